job "who" {
  group "g" {
    task "own" {
      driver = "raw_exec"
      identity {
        env  = true
        file = true
      }
    }
    task "silent" {
      driver = "raw_exec"
      identity {
      }
    }
    task "more" {
      driver = "raw_exec"
      identity "vault_default" {
        aud = ["vault.io"]
        ttl = "1h"
      }
      identity "web" {
        aud           = ["web"]
        env           = true
        filepath      = "local/token"
        change_mode   = "signal"
        change_signal = "SIGHUP"
        service_name  = "web"
        extra_claims  = ["team"]
      }
    }
  }
}
