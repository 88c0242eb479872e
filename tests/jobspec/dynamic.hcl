locals {
  groups = {
    a = { count = 1, env = { X = "1" } }
    b = { count = 2, env = { X = "2", Y = "3" } }
  }
}
job "many" {
  dynamic "group" {
    for_each = local.groups
    labels   = ["group-${group.key}"]

    content {
      count = group.value.count

      dynamic "task" {
        for_each = range(group.value.count)
        iterator = it
        labels   = ["task-${it.key}"]

        content {
          driver = "raw_exec"
          env    = merge(group.value.env, { INDEX = it.value })
        }
      }
    }
  }
}
