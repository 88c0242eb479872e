job "egress" {
  group "g" {
    service {
      name = "egress"
      connect {
        gateway {
          terminating {
            service {
              name      = "legacy"
              ca_file   = "/certs/ca.pem"
              cert_file = "/certs/cert.pem"
              key_file  = "/certs/key.pem"
              sni       = "legacy.example.com"
            }
            service {
              name      = "half"
              cert_file = "/certs/cert.pem"
            }
          }
        }
      }
    }
    service {
      name = "between"
      connect {
        gateway {
          mesh {}
        }
      }
    }
    service {
      name = "undecided"
      connect {
        gateway {}
      }
    }
    task "t" {
      driver = "docker"
    }
  }
}
