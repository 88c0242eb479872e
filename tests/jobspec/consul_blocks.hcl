job "clusters" {
  group "g" {
    consul {
      namespace = "team"
    }
    task "t" {
      driver = "raw_exec"
      consul {
        cluster   = "east"
        partition = "p"
      }
    }
  }
}
