job "preferred" {
  affinity {
    attribute = "${node.datacenter}"
    value     = "dc1"
    weight    = 100
  }

  group "g" {
    affinity {
      attribute = "${meta.rack}"
      operator  = "set_contains_any"
      value     = "r1,r2"
      weight    = -50
    }

    task "t" {
      driver = "raw_exec"
      affinity {
        attribute = "${attr.kernel.version}"
        version   = ">= 5"
      }
      affinity {
        attribute = "${node.class}"
        value     = "x"
        weight    = 0
      }
    }
  }
}
