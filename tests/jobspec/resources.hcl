job "hungry" {
  group "g" {
    task "plain" {
      driver = "raw_exec"
      resources {
        cpu        = 500
        memory     = 256
        memory_max = 512
      }
    }
    task "unbounded" {
      driver = "raw_exec"
      resources {
        memory_max = -1
        secrets    = 2
      }
    }
    task "cores" {
      driver = "raw_exec"
      resources {
        cores = 2
        numa {
          affinity = "prefer"
        }
      }
    }
    task "gpu" {
      driver = "raw_exec"
      resources {
        device "nvidia/gpu" {
          count = 2
          constraint {
            attribute = "${device.attr.memory}"
            operator  = ">="
            value     = "8 GiB"
          }
          affinity {
            attribute = "${device.model}"
            value     = "T4"
            weight    = 75
          }
        }
        device "vendor/fpga/x1" {}
      }
    }
  }
}
