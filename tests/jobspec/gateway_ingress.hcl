job "ingress" {
  group "g" {
    network {
      mode = "bridge"
    }
    service {
      name = "ingress"
      port = "8080"
      connect {
        gateway {
          proxy {
            connect_timeout                     = "500ms"
            envoy_gateway_bind_tagged_addresses = true
            envoy_gateway_no_default_bind       = true
            envoy_dns_discovery_type            = "LOGICAL_DNS"
            envoy_gateway_bind_addresses "public" {
              address = "0.0.0.0"
              port    = 8443
            }
            config {
              level = "debug"
            }
          }
          ingress {
            tls {
              enabled         = true
              tls_min_version = "TLSv1_2"
              cipher_suites   = ["TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"]
            }
            listener {
              port     = 8080
              protocol = "http"
              service {
                name            = "web"
                hosts           = ["example.com"]
                max_connections = 100
                request_headers {
                  add {
                    x-gateway = "yes"
                  }
                  remove = ["x-debug"]
                }
              }
              service {
                name = "*"
              }
            }
            listener {
              port = 0
              service {
                name = "*"
              }
            }
          }
        }
      }
    }
    task "t" {
      driver = "docker"
    }
  }
}
