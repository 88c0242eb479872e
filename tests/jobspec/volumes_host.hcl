job "hosted" {
  group "g" {
    volume "data" {
      type   = "host"
      source = "pg-data"
    }
    volume "certs" {
      type      = "host"
      source    = "certs"
      read_only = true
    }
    task "t" {
      driver = "docker"
      volume_mount {
        volume      = "data"
        destination = "/var/lib/postgresql"
      }
      volume_mount {
        volume           = "certs"
        destination      = "/certs"
        read_only        = true
        propagation_mode = "host-to-task"
        selinux_label    = "Z"
      }
      volume_mount {
        volume           = "nothing"
        propagation_mode = "public"
      }
    }
  }
}
