# Contents of older files: still read, and answered with a warning or a refusal.
job "old" {
  group "g" {
    task "t" {
      driver = "raw_exec"

      resources {
        cpu  = 200
        iops = 10
        disk = 100

        network {
          mbits = 20
          port "http" {}
        }
      }
      logs {
        enabled = false
      }
      template {
        data        = "x"
        destination = "local/x"
        vault_grace = "5m"
      }
    }
  }

  group "net" {
    network {
      mbits = 10
    }
    stop_after_client_disconnect = "1m"
    max_client_disconnect        = "2m"
    task "t" {
      driver = "raw_exec"
    }
  }
}
