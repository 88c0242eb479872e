job "placed" {
  constraint {
    attribute = "${attr.kernel.name}"
    value     = "linux"
  }
  constraint {
    attribute = "${attr.cpu.arch}"
    operator  = "!="
    value     = "arm64"
  }
  constraint {
    distinct_hosts = true
  }

  group "g" {
    constraint {
      attribute = "${node.class}"
      regexp    = "^web-[0-9]+$"
    }
    constraint {
      attribute = "${attr.nomad.version}"
      version   = ">= 1.2, < 2"
    }
    constraint {
      attribute = "${attr.driver.docker.version}"
      semver    = ">= 20.0.0"
    }
    constraint {
      attribute    = "${meta.racks}"
      set_contains = "r1,r2"
    }
    constraint {
      attribute        = "${meta.racks}"
      set_contains_any = "r1,r3"
    }
    constraint {
      distinct_property = "${meta.rack}"
      value             = 2
    }
    constraint {
      operator = "distinct_hosts"
      value    = "false"
    }

    task "t" {
      driver = "raw_exec"

      constraint {
        is_set = "${meta.gpu}"
      }
      constraint {
        is_not_set = "${meta.drained}"
      }
      constraint {
        attribute = "${attr.cpu.numcores}"
        operator  = ">="
        value     = 4
      }
    }
  }
}
