job "spread" {
  spread {
    attribute = "${node.datacenter}"
    weight    = 80

    target "dc1" {
      percent = 70
    }
    target "dc2" {
      percent = 30
    }
  }

  group "g" {
    spread {
      attribute = "${meta.rack}"
    }
    spread {
      attribute = "${meta.zone}"
      weight    = 101
      target {
        value   = "a"
        percent = 60
      }
      target "a" {
        percent = 60
      }
    }
    task "t" {
      driver = "raw_exec"
    }
  }
}
