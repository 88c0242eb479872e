job "web" {
  update {
    max_parallel      = 3
    health_check      = "task_states"
    min_healthy_time  = "15s"
    healthy_deadline  = "2m"
    progress_deadline = "5m"
    stagger           = "45s"
    auto_revert       = true
    canary            = 1
  }

  group "inherits" {
    task "server" {
      driver = "raw_exec"
    }
  }

  group "overrides" {
    update {
      max_parallel = 1
      canary       = 2
      auto_revert  = true
      auto_promote = true
    }
    task "server" {
      driver = "raw_exec"
    }
  }

  group "takes_back" {
    update {
      auto_revert = false
      canary      = 0
    }
    task "server" {
      driver = "raw_exec"
    }
  }

  group "all_at_once" {
    update {
      max_parallel = 0
    }
    task "server" {
      driver = "raw_exec"
    }
  }
}
