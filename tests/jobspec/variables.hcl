variable "image" {
  type        = string
  default     = "redis"
  description = "What to run."
}
variable "tag" {
  default = 7
}
variables {
  count = 2
  tags  = ["a", "b"]
}
job "cache" {
  group "g" {
    count = var.count
    task "t" {
      driver = "docker"
      config {
        image  = "${var.image}:${var.tag}"
        labels = { for i, tag in var.tags : "tag_${i}" => upper(tag) }
      }
    }
  }
}
