# Numbers beyond 64 bits and fractions, where a driver or a text takes them.
variable "share" {
  type    = number
  default = 0.1
}

variable "large" {
  default = 18446744073709551616
}

locals {
  sum   = var.share + 0.2
  third = 1 / 3
}

job "numbers" {
  priority = 100 * 0.5

  group "g" {
    count = 6 / 2

    task "t" {
      driver = "raw_exec"

      config {
        command = "/bin/true"
        share   = local.sum
        large   = var.large
        limits  = [0.25, 9223372036854775807, 1e3]
      }

      env {
        SUM   = local.sum
        THIRD = format("%.20f", local.third)
        LARGE = var.large
        NEXT  = "${9223372036854775807 + 1}"
        HEX   = format("%x", parseint("ffffffffffffffffffff", 16))
      }
    }
  }
}
