job "contained" {
  group "g" {
    network {
      port "db" {
        to = 6379
      }
    }
    task "redis" {
      driver = "docker"
      config {
        image          = "redis:7"
        ports          = ["db"]
        auth_soft_fail = true
        auth {
          username = "me"
          password = "secret"
        }
        labels {
          team = "a"
        }
        logging {
          type = "json-file"
          config {
            max-size = "10m"
          }
        }
        mount {
          type   = "bind"
          source = "local"
          target = "/conf"
          bind_options {
            propagation = "rshared"
          }
        }
        mount {
          type   = "tmpfs"
          target = "/tmp"
          tmpfs_options {
            size = 1000000
          }
        }
        ulimit {
          nofile = "65536:65536"
        }
        sysctl = {
          "net.core.somaxconn" = "1024"
        }
        shm_size = 64 * 1024 * 1024
      }
    }
  }
}
