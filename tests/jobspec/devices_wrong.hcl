job "picky" {
  group "g" {
    task "t" {
      driver = "raw_exec"
      resources {
        device "" {}
        device "/gpu" {}
        device "nvidia/" {}
        device "nvidia//T4" {}
        device "nvidia/gpu/a/b" {}
        device "none" {
          count = 0
        }
        device "gpu" {
          constraint {
            distinct_hosts = true
          }
          constraint {
            operator = ">="
            value    = "8 GiB"
          }
          affinity {
            attribute = "${device.model}"
            value     = "T4"
            weight    = 101
          }
        }
      }
    }
  }
}
