job "never" {
  periodic {
    cron = "* * *"
  }
  group "g" {
    task "t" {
      driver = "raw_exec"
    }
  }
}
