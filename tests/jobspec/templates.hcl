job "rendered" {
  group "g" {
    task "t" {
      driver = "docker"

      template {
        data        = <<EOT
port = {{ env "NOMAD_PORT_http" }}
db   = {{ with secret "database/creds/web" }}{{ .Data.username }}{{ end }}
EOT
        destination = "local/app.conf"
      }
      template {
        source          = "local/in.tpl"
        destination     = "secrets/env"
        env             = true
        perms           = "0600"
        uid             = 1000
        gid             = 1000
        left_delimiter  = "[["
        right_delimiter = "]]"
        splay           = "10s"
        wait {
          min = "5s"
          max = "1m"
        }
        error_on_missing_key = true
        once                 = true
      }
      template {
        data          = "x"
        destination   = "local/x"
        change_mode   = "signal"
        change_signal = "sigusr1"
      }
      template {
        data        = "y"
        destination = "local/y"
        change_mode = "script"
        change_script {
          command             = "/bin/reload"
          args                = ["-v"]
          timeout             = "20s"
          fail_on_error       = true
          run_on_first_render = true
        }
      }
    }
    task "wrong" {
      driver = "docker"
      template {
        destination = "../../etc/passwd"
        change_mode = "sometimes"
        perms       = "rw"
        splay       = "-1s"
      }
      template {
        data        = "a"
        destination = "local/a"
        change_mode = "signal"
        env         = true
      }
      template {
        data        = "b"
        destination = "local/a"
        change_mode = "script"
      }
      template {
        data = "c"
        wait {
          min = "1m"
          max = "1s"
        }
      }
    }
  }
}
