job "stateful" {
  migrate {
    max_parallel     = 2
    health_check     = "task_states"
    min_healthy_time = "20s"
    healthy_deadline = "3m"
  }

  group "db" {
    ephemeral_disk {
      size    = 1000
      migrate = true
    }
    migrate {
      max_parallel = 1
    }
    task "t" {
      driver = "raw_exec"
    }
  }

  group "cache" {
    ephemeral_disk {
      size   = 500
      sticky = true
    }
    task "t" {
      driver = "raw_exec"
    }
  }
}
