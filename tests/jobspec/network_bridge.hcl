job "bridged" {
  group "g" {
    network {
      mode     = "bridge"
      hostname = "web-${NOMAD_ALLOC_INDEX}"

      dns {
        servers  = ["10.0.0.2"]
        searches = ["example.com"]
        options  = ["ndots:2"]
      }
      port "http" {
        static       = 80
        to           = 8080
        host_network = "public"
      }
    }
    task "t" {
      driver = "docker"
    }
  }

  group "cni" {
    network {
      mode = "cni/macvlan"
      cni {
        args = {
          zone = "a"
        }
      }
      port "x" {
        static           = 70000
        ignore_collision = true
      }
      port "x" {
        to = 65536
      }
    }
    network {
      mode     = "wireless"
      hostname = "-bad-"
    }
    task "t" {
      driver = "docker"
    }
  }
}
