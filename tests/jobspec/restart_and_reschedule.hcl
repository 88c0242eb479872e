job "stubborn" {
  reschedule {
    delay          = "10s"
    delay_function = "fibonacci"
    max_delay      = "5m"
    unlimited      = true
  }

  group "g" {
    restart {
      attempts = 5
      interval = "10m"
      delay    = "20s"
      mode     = "delay"
    }

    task "inherits" {
      driver = "raw_exec"
    }
    task "overrides" {
      driver = "raw_exec"
      restart {
        attempts         = 1
        render_templates = true
      }
    }
  }

  group "limited" {
    reschedule {
      attempts       = 4
      interval       = "1h"
      delay_function = "constant"
      unlimited      = false
    }
    task "t" {
      driver = "raw_exec"
    }
  }

  group "off" {
    reschedule {
      attempts  = 0
      unlimited = false
    }
    task "t" {
      driver = "raw_exec"
    }
  }
}
