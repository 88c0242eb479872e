job "world" {
  multiregion {
    strategy {
      max_parallel = 1
      on_failure   = "fail_all"
    }
    region "west" {
      count       = 2
      datacenters = ["west-1"]
      meta {
        zone = "w"
      }
    }
    region "east" {
      count     = 1
      node_pool = "default"
    }
  }
  group "g" {
    task "t" {
      driver = "raw_exec"
    }
  }
}
