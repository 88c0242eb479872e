locals {
  list = ["a", "b", "c"]
  map  = { x = 1, y = 2 }
}
job "expressions" {
  meta {
    conditional = length(local.list) > 2 ? "many" : "few"
    for_list    = join(",", [for i, v in local.list : "${i}${v}" if v != "b"])
    for_map     = jsonencode({ for k, v in local.map : k => v * 10 })
    splat       = join(",", [{ n = "p" }, { n = "q" }][*].n)
    grouped     = jsonencode({ for v in ["a1", "a2", "b1"] : substr(v, 0, 1) => v... })
    arithmetic  = -7 % 3 + 2.5
    logic       = !(true && false) || false
    compare     = 1 == 1.0 && "a" != "b"
    index       = local.list[1]
    attribute   = local.map.y
    template    = "%{for v in local.list}${v};%{endfor}"
    nothing     = "${null == null}"
  }
  group "g" {
    task "t" {
      driver = "raw_exec"
    }
  }
}
