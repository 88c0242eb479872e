job "staged" {
  group "g" {
    task "prepare" {
      driver = "raw_exec"
      lifecycle {
        hook = "prestart"
      }
    }
    task "sidecar" {
      driver = "raw_exec"
      lifecycle {
        hook    = "prestart"
        sidecar = true
      }
    }
    task "main" {
      driver         = "raw_exec"
      leader         = true
      user           = "nobody"
      kill_timeout   = "20s"
      kill_signal    = "SIGQUIT"
      shutdown_delay = "3s"
    }
    task "plain" {
      driver = "raw_exec"
      lifecycle {}
    }
    task "announce" {
      driver = "raw_exec"
      lifecycle {
        hook = "poststart"
      }
    }
    task "clean" {
      driver = "raw_exec"
      lifecycle {
        hook = "poststop"
      }
    }
  }
}
