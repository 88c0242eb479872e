# Values that the node knows are left for the node; values that the file knows are put in here.
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
