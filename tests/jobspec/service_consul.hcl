job "shop" {
  group "web" {
    network {
      port "http" {}
    }

    service {
      port                = "http"
      tags                = ["v1", "http"]
      canary_tags         = ["canary"]
      enable_tag_override = true
      meta {
        version = "1"
      }
      canary_meta {
        version = "2"
      }
      tagged_addresses {
        wan = "1.2.3.4"
      }
      weights {
        passing = 2
        warning = 1
      }
      kind = "api-gateway"
    }
    service {
      name         = "${JOB}-${TASKGROUP}-extra"
      port         = "http"
      address_mode = "host"
      on_update    = "ignore_warnings"
      cluster      = "east"
      identity {
        aud  = ["consul.io"]
        file = true
        ttl  = "1h"
      }
    }

    task "server" {
      driver = "docker"
      service {
        name = "${BASE}-admin"
        port = "http"
      }
      service {
        name         = "${TASK}"
        port         = "http"
        address_mode = "driver"
      }
    }
  }
}
