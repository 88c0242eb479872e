job "shown" {
  ui {
    description = "What operators see."
    link {
      label = "Runbook"
      url   = "https://example.com/runbook"
    }
    link {
      label = "Board"
    }
  }
  group "g" {
    task "t" {
      driver = "raw_exec"
      action "flush" {
        command = "/bin/flush"
        args    = ["--all"]
      }
      action "flush" {
      }
    }
  }
}
