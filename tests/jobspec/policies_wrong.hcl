job "wrong" {
  priority = 200
  group "g" {
    count = -1
    restart {
      attempts = 10
      interval = "1s"
      delay    = "15s"
      mode     = "sometimes"
    }
    reschedule {
      attempts       = 3
      interval       = "1s"
      delay          = "1s"
      delay_function = "linear"
      unlimited      = true
    }
    update {
      max_parallel     = -1
      health_check     = "luck"
      min_healthy_time = "10m"
      auto_promote     = true
    }
    migrate {
      health_check     = "manual"
      min_healthy_time = "1h"
    }
    ephemeral_disk {
      size = 5
    }
    task "t" {
      driver         = ""
      kill_timeout   = "-1s"
      shutdown_delay = "-1s"
      resources {
        cpu        = 0
        memory     = 5
        memory_max = 3
        disk       = 10
      }
      logs {
        max_files     = 0
        max_file_size = 0
      }
      lifecycle {
        hook = "midstart"
      }
    }
    task "t" {
      driver = "raw_exec"
      leader = true
    }
    task "a/b" {
      driver = "raw_exec"
      leader = true
      lifecycle {
        hook    = "poststop"
        sidecar = true
      }
    }
  }
  group "g" {
  }
}
