locals {
  base  = "shop"
  full  = "${local.base}-${local.stage}"
  sizes = { small = 100, large = 500 }
}
locals {
  stage = "test"
  cpu   = local.stage == "test" ? local.sizes.small : local.sizes["large"]
}
job "locals" {
  name = local.full
  group "g" {
    task "t" {
      driver = "raw_exec"
      resources {
        cpu = local.cpu
      }
    }
  }
}
