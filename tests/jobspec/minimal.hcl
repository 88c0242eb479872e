job "minimal" {
  group "app" {
    task "server" {
      driver = "raw_exec"
    }
  }
}
