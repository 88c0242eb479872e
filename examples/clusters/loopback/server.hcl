# Shared by the three servers; run gives each its name, its address and its folder.
server {
  enabled          = true
  bootstrap_expect = 3
  server_join {
    retry_join     = ["127.0.0.1", "127.0.0.2", "127.0.0.3"]
    retry_interval = "1s"
  }
}
