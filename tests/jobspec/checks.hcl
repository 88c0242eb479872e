job "checked" {
  group "g" {
    network {
      port "http" {}
    }
    service {
      name = "web"
      port = "http"

      check_restart {
        limit           = 3
        grace           = "90s"
        ignore_warnings = true
      }
      check {
        name                     = "alive"
        type                     = "http"
        protocol                 = "https"
        method                   = "POST"
        path                     = "/ready?deep=1"
        body                     = jsonencode({ deep = true })
        interval                 = "10s"
        timeout                  = "3s"
        initial_status           = "passing"
        tls_skip_verify          = true
        tls_server_name          = "web.example.com"
        success_before_passing   = 2
        failures_before_critical = 3
        failures_before_warning  = 1
        notes                    = "see the runbook"
        header {
          Authorization = ["Basic eA=="]
          X-Many        = ["a", "b"]
        }
      }
      check {
        type         = "grpc"
        port         = "http"
        interval     = "15s"
        timeout      = "5s"
        grpc_service = "health"
        grpc_use_tls = true
        task         = "t"
        check_restart {
          limit = 1
        }
        on_update = "ignore_warnings"
      }
      check {
        type     = "script"
        command  = "/bin/check"
        args     = ["--fast"]
        interval = "30s"
        timeout  = "10s"
        task     = "t"
      }
      check {
        type         = "tcp"
        address_mode = "alloc"
        expose       = false
        advertise    = "10.0.0.1"
        interval     = "1s"
        timeout      = "1s"
      }
    }
    task "t" {
      driver = "docker"
    }
  }
}
