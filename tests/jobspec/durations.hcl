job "times" {
  group "g" {
    shutdown_delay = "1h30m"
    task "t" {
      driver         = "raw_exec"
      kill_timeout   = 2000000000
      shutdown_delay = "1.5s"
    }
    restart {
      interval = "90m"
      delay    = "500ms"
    }
  }
}
