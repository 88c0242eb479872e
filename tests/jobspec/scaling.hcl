job "elastic" {
  group "web" {
    scaling {
      enabled = true
      min     = 2
      max     = 10

      policy {
        cooldown = "1m"

        check "cpu" {
          source = "prometheus"
          query  = "avg(cpu)"

          strategy "target-value" {
            target = 70
          }
        }
      }
    }
    task "t" {
      driver = "docker"

      scaling "cpu" {
        max = 1000
        policy {
          cooldown = "5m"
        }
      }
      scaling "mem" {
        enabled = false
        min     = 64
        max     = 512
      }
    }
  }

  group "wrong" {
    count = 5
    scaling {
      min = 6
      max = 4
    }
    task "t" {
      driver = "docker"
    }
  }

  group "open" {
    scaling {
      max = 3
    }
    task "t" {
      driver = "docker"
    }
  }
}
