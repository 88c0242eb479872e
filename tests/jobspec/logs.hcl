job "chatty" {
  group "g" {
    task "small" {
      driver = "raw_exec"
      logs {
        max_files     = 2
        max_file_size = 5
      }
    }
    task "off" {
      driver = "raw_exec"
      logs {
        disabled = true
      }
    }
    task "huge" {
      driver = "raw_exec"
      logs {
        max_files     = 40
        max_file_size = 10
      }
    }
  }
}
