job "folder/name" {
  name         = "shown name"
  region       = "west"
  namespace    = "default"
  type         = "service"
  priority     = 80
  all_at_once  = true
  datacenters  = ["dc*", "eu-1"]
  node_pool    = "all"
  vault_token  = "v"
  consul_token = "c"

  group "g" {
    shutdown_delay = "5s"
    task "t" {
      driver = "raw_exec"
    }
  }
}
