job "native" {
  group "g" {
    service {
      name = "generator"
      port = "8080"
      task = "generate"
      connect {
        native = true
      }
    }
    task "generate" {
      driver = "docker"
    }
  }
}
