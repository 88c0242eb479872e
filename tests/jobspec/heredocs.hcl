job "text" {
  group "g" {
    task "t" {
      driver = "raw_exec"
      env {
        PLAIN     = <<EOT
  kept as
    it stands
EOT
        FLUSH     = <<-EOT
          first
            second
          third
        EOT
        DIRECTIVE = <<-EOT
          %{for x in ["a", "b"]~}
          item ${x}
          %{endfor~}
          %{if true}yes%{else}no%{endif}
        EOT
      }
    }
  }
}
