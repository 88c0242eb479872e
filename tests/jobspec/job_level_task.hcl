job "short" {
  type = "batch"
  task "only" {
    driver = "raw_exec"
    config {
      command = "/bin/true"
    }
  }
}
