# One block for all tasks; a group's goes before the job's, a task's before both.
job "secret" {
  vault {
    policies = ["job"]
  }

  group "a" {
    task "of_job" {
      driver = "docker"
    }
    task "own" {
      driver = "docker"
      vault {
        policies      = ["own"]
        env           = false
        disable_file  = true
        change_mode   = "signal"
        change_signal = "sighup"
        namespace     = "team"
      }
    }
  }

  group "b" {
    vault {
      role                   = "group"
      allow_token_expiration = true
    }
    task "of_group" {
      driver = "docker"
    }
    task "wrong" {
      driver = "docker"
      vault {
        policies    = ["root"]
        change_mode = "signal"
      }
    }
  }
}
