job "resize" {
  type = "batch"

  parameterized {
    payload       = "required"
    meta_required = ["width", "height"]
    meta_optional = ["format", "width"]
  }

  group "g" {
    task "t" {
      driver = "raw_exec"

      dispatch_payload {
        file = "image/input.png"
      }
    }
  }
}
