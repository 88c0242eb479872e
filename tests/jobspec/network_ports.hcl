job "ports" {
  group "g" {
    network {
      port "http" {}
      port "admin" {
        static = 9000
      }
      port "metrics" {
        to = 9100
      }
      port "same" {
        to = -1
      }
    }
    task "t" {
      driver = "raw_exec"
      env {
        ADDR = "${NOMAD_ADDR_http}"
      }
    }
  }
}
