job "often" {
  type = "sysbatch"

  periodic {
    crons   = ["*/15 * * * *", "@daily"]
    enabled = false
  }

  group "g" {
    task "t" {
      driver = "raw_exec"
    }
  }
}
