# The tasks that the conformance kit runs with this driver.
task "endless" {
  config {
    for = "1h"
  }
}

task "ending" {
  exit_code = 0
  config {
    for = "5ms"
  }
}

task "invalid" {
  config {
    for = "a while"
  }
}
