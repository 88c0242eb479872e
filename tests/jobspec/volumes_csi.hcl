job "mounted" {
  group "g" {
    count = 2

    volume "data" {
      type            = "csi"
      source          = "pg"
      access_mode     = "single-node-writer"
      attachment_mode = "file-system"
      per_alloc       = true
      sticky          = true

      mount_options {
        fs_type     = "ext4"
        mount_flags = ["noatime"]
      }
    }
    volume "shared" {
      type            = "csi"
      source          = "web"
      access_mode     = "multi-node-reader-only"
      attachment_mode = "file-system"
    }
    volume "wrong" {
      type        = "nfs"
      access_mode = "any"
    }
    volume "lonely" {
      type            = "csi"
      source          = "x"
      access_mode     = "multi-node-single-writer"
      attachment_mode = "tape"
    }
    task "t" {
      driver = "docker"
    }
  }
}
