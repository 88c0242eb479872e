job "files" {
  group "g" {
    task "t" {
      driver = "raw_exec"
      env {
        TEXT   = trimspace(file("file_functions.txt"))
        BASE64 = filebase64("./file_functions.txt")
        THERE  = fileexists("file_functions.txt")
        ABSENT = fileexists("nothing.txt")
        FOUND  = join(",", fileset(".", "file_functions.t*"))
      }
    }
  }
}
