# Runs once, on any node of one datacenter.
job "report" {
  type        = "batch"
  datacenters = ["dc1"]
  priority    = 30

  group "report" {
    count = 3

    task "build" {
      driver = "raw_exec"

      config {
        command = "/usr/bin/make"
        args    = ["report"]
      }
    }
  }
}
