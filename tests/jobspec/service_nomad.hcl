job "internal" {
  group "api" {
    network {
      port "http" {}
    }
    service {
      name     = "api"
      provider = "nomad"
      port     = "http"
      tags     = ["${NOMAD_ALLOC_INDEX}"]

      check {
        type     = "http"
        path     = "/health"
        interval = "10s"
        timeout  = "2s"
      }
      check {
        name     = "open"
        type     = "tcp"
        interval = "5s"
        timeout  = "1s"
      }
    }
    task "t" {
      driver = "docker"
    }
  }
}
