# What the node knows is left for the node; what the file knows is put in here.
variable "path" {
  default = "bin"
}
job "later" {
  group "g" {
    task "t" {
      driver = "raw_exec"
      config {
        command = "${NOMAD_TASK_DIR}/${var.path}/run"
        args = [
          "${NOMAD_PORT_http}",
          "--node=${node.unique.name}",
          "${attr.cpu.arch}",
          "${meta.rack}",
          "${env["HOME"]}",
          "$${not} %%{this}",
          "${NOMAD_META_a}-${var.path}-${attr.unique.hostname}",
        ]
      }
    }
  }
}
