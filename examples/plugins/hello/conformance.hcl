# The tasks that the conformance kit runs with this driver.
task "endless" {
  config {
    name = "kit"
  }
}

task "invalid" {
  config {
    name = ""
  }
}
