variable "image" {
  type = string
  validation {
    condition     = length(var.image) > 3
    error_message = "The name of an image is longer."
  }
}
variable "ports" {
  type = list(object({ name = string, number = number }))
}
variable "limits" {
  type    = map(number)
  default = {}
}
variable "names" {
  type = set(string)
}
variable "on" {
  type    = bool
  default = false
}
job "given" {
  group "g" {
    network {
      dynamic "port" {
        for_each = var.ports
        labels   = [port.value.name]
        content {
          static = port.value.number
        }
      }
    }
    task "t" {
      driver = "docker"
      config {
        image = var.image
        names = join("-", var.names)
        on    = var.on
      }
      resources {
        cpu = var.limits["cpu"]
      }
    }
  }
}
