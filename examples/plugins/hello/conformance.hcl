# The tasks that the conformance kit runs with this driver.
task "endless" {
  config {
    name = "kit"
  }
}

task "talking" {
  stdout = "hello, kit\n"
  config {
    name  = "kit"
    every = "1s"
  }
}

task "invalid" {
  config {
    name  = "kit"
    every = "1ms"
  }
}
