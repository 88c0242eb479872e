# Checks for the conformance kit. Nobody listens on port 1.
check "critical" {
  type    = "redis"
  address = "127.0.0.1"
  port    = 1
  options {}
}

# Fits the schema, and no run can satisfy it.
check "invalid" {
  type    = "redis"
  address = "127.0.0.1"
  port    = 1
  options {
    expect = "two\nlines"
  }
}
