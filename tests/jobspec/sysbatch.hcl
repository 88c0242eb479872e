job "sweep" {
  type = "sysbatch"

  group "sweep" {
    task "rm" {
      driver = "raw_exec"
      config {
        command = "/bin/sweep"
      }
    }
  }
}
