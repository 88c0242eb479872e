job "svc" {
  group "g" {
    task "t" {
      driver = "raw_exec"
      config {
        command = "/bin/sh"
        args    = ["-c", "trap 'echo got hup' HUP; echo start $$ >&2; while :; do echo tick; sleep 0.3; done"]
      }
    }
  }
}
