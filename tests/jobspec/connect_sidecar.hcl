job "mesh" {
  group "api" {
    network {
      mode = "bridge"
    }
    service {
      name = "api"
      port = "9001"

      connect {
        sidecar_service {
          tags                      = ["proxy"]
          port                      = "connect"
          disable_default_tcp_check = true
          meta {
            team = "a"
          }

          proxy {
            local_service_address = "127.0.0.1"
            local_service_port    = 9001

            upstreams {
              destination_name      = "db"
              destination_namespace = "default"
              local_bind_port       = 5432
              datacenter            = "dc2"
              mesh_gateway {
                mode = "local"
              }
              config {
                connect_timeout_ms = 5000
              }
            }
            upstreams {
              destination_name       = "cache"
              local_bind_socket_path = "/tmp/cache.sock"
              local_bind_socket_mode = "0600"
            }
            expose {
              path {
                path            = "/health"
                protocol        = "http"
                local_path_port = 9001
                listener_port   = "health"
              }
            }
            transparent_proxy {
              uid                    = "101"
              outbound_port          = 15001
              exclude_inbound_ports  = ["9000"]
              exclude_outbound_ports = [443]
              exclude_uids           = ["0"]
              no_dns                 = true
            }
            config {
              protocol = "http"
            }
          }
        }

        sidecar_task {
          user           = "envoy"
          kill_timeout   = "10s"
          shutdown_delay = "5s"
          resources {
            cpu    = 300
            memory = 64
          }
          logs {
            max_files = 3
          }
          env {
            LEVEL = "debug"
          }
          config {
            image = "envoyproxy/envoy:v1.25.1"
          }
          identity {
            aud  = ["vault.io"]
            file = true
            ttl  = "1h"
          }
          identity "mesh" {
            env = true
          }
        }
      }
    }
    task "api" {
      driver = "docker"
    }
  }
}
