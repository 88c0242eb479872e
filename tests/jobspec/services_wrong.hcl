job "wrong" {
  group "g" {
    service {
      name         = "under_score"
      provider     = "dns"
      address_mode = "driver"
      on_update    = "never"
      check {
        type     = "ping"
        interval = "1ms"
      }
      check {
        type           = "http"
        path           = "http://x/"
        interval       = "1s"
        timeout        = "1s"
        initial_status = "fine"
        task           = "missing"
        on_update      = "ignore"
        check_restart {
          limit = 2
        }
      }
      check {
        type     = "script"
        interval = "1s"
        timeout  = "1s"
      }
    }
    service {
      name         = "twin"
      provider     = "nomad"
      port         = "x"
      address      = "10.0.0.1"
      address_mode = "alloc"
      check {
        type     = "grpc"
        interval = "1s"
        timeout  = "1s"
      }
    }
    service {
      name     = "twin"
      provider = "nomad"
      port     = "x"
    }
    task "t" {
      driver = "docker"
      service {
        name         = "mine"
        address_mode = "alloc"
        connect {
          native = true
        }
      }
    }
  }
}
