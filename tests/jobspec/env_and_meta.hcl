job "named" {
  name = "A name of its own"
  meta {
    owner  = "ops"
    number = 5
    flag   = true
  }

  group "g" {
    meta = {
      tier = "front"
    }
    task "t" {
      driver = "raw_exec"
      meta {
        key = "x"
      }
      env = {
        PLAIN    = "value"
        NUMBER   = 8080
        LITERAL  = "$${HOME}"
        INNER    = "${NOMAD_META_owner}-${env["HOME"]}"
        MULTIPLE = join(",", ["a", "b"])
      }
    }
  }
}
