job "plugin" {
  type = "system"

  group "nodes" {
    task "plugin" {
      driver = "docker"

      config {
        image      = "example/csi:1.0"
        privileged = true
        args       = ["--endpoint=${CSI_ENDPOINT}", "--node=${node.unique.id}"]
      }
      csi_plugin {
        id        = "example"
        type      = "node"
        mount_dir = "/plugin"
      }
    }
    task "wrong" {
      driver = "docker"
      csi_plugin {
        type           = "both"
        health_timeout = "1m"
      }
    }
  }
}
