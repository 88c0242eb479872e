job "nightly" {
  type = "batch"

  periodic {
    cron             = "15 3 * * *"
    prohibit_overlap = true
    time_zone        = "Europe/Berlin"
  }

  group "g" {
    task "t" {
      driver = "raw_exec"
    }
  }
}
