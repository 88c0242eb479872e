# A web service: two instances, each on a port of its own that the scheduler picks.
variable "instances" {
  type    = number
  default = 2
}

job "web" {
  group "app" {
    count = var.instances

    network {
      port "http" {}
    }

    restart {
      attempts = 3
      interval = "1m"
      delay    = "1s"
      mode     = "delay"
    }

    task "server" {
      driver = "raw_exec"

      config {
        command = "/usr/bin/python3"
        args    = ["${NOMAD_TASK_DIR}/../../../../server.py", "${NOMAD_PORT_http}"]
      }

      resources {
        cpu    = 50
        memory = 64
      }
    }
  }
}
