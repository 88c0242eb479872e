job "timed" {
  group "g" {
    task "t" {
      driver = "raw_exec"
      secret "db" {
        provider = "vault"
        path     = "secret/db"
        config {
          engine = "kv_v2"
        }
        env {
          USER = "user"
        }
      }
      secret "empty" {
      }
      schedule {
        cron {
          start    = "0 9 * * * *"
          end      = "0 17 * * * *"
          timezone = "UTC"
        }
      }
    }
  }
}
