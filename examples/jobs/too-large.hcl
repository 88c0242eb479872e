# A job that cannot fit: one group asks for more memory than any machine has, the other for another operating system.
job "too-large" {
  group "memory" {
    task "hog" {
      driver = "raw_exec"
      config {
        command = "/bin/true"
      }
      resources {
        cpu    = 100
        memory = 100000000
      }
    }
  }

  group "elsewhere" {
    constraint {
      attribute = "${attr.kernel.name}"
      value     = "plan9"
    }
    task "glenda" {
      driver = "raw_exec"
      config {
        command = "/bin/true"
      }
    }
  }
}
