job "misplaced" {
  constraint {
    operator = "=~"
  }
  constraint {
    attribute = "${node.class}"
  }
  group "g" {
    constraint {
      value = "x"
    }
    constraint {
      distinct_property = "${meta.rack}"
      value             = "many"
    }
    task "t" {
      driver = "raw_exec"
      constraint {
        distinct_hosts = true
      }
    }
  }
}
