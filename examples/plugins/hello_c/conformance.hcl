# The task that the conformance kit runs with this driver.
task "endless" {
  config {}
}
