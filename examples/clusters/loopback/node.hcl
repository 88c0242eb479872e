# A node of its own, which calls whichever server is there.
client {
  enabled           = true
  servers           = ["127.0.0.1", "127.0.0.2", "127.0.0.3"]
  network_interface = "lo"
}

# Jobs run programs with the agent's rights.
plugin "raw_exec" {
  config {
    enabled = true
  }
}
