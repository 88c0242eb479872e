job "fetched" {
  group "g" {
    task "t" {
      driver = "docker"
      artifact {
        source = "https://example.com/app-${attr.cpu.arch}.tar.gz"
      }
      artifact {
        source      = "git::https://example.com/conf"
        destination = "local/conf"
        mode        = "dir"
        insecure    = true
        chown       = true
        options {
          checksum = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
          ref      = "v1.2"
        }
        headers {
          X-Token = "abc"
        }
      }
      artifact {
        source      = ""
        destination = "../out"
        mode        = "link"
        options {
          checksum = "sha256:12"
        }
      }
    }
  }
}
