# Signals that a task uses become a constraint on its node.
job "signalled" {
  group "g" {
    task "t" {
      driver      = "raw_exec"
      kill_signal = "SIGUSR2"
      vault {
        policies      = ["p"]
        change_mode   = "signal"
        change_signal = "SIGHUP"
      }
      template {
        data          = "x"
        destination   = "local/x"
        change_mode   = "signal"
        change_signal = "SIGUSR1"
      }
    }
  }
}
