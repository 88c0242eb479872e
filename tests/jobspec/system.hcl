job "collector" {
  type = "system"

  update {
    stagger      = "10s"
    max_parallel = 2
  }

  group "collector" {
    restart {
      attempts = 0
      mode     = "fail"
    }

    task "collect" {
      driver = "raw_exec"
      config {
        command = "/bin/collect"
      }
    }
  }
}
