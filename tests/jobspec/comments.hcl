/* A file with every
   kind of comment */
job "commented" { # behind a brace
  // a line of its own
  priority = /* before the value */ 60 // and behind it

  group "g" { /**/
    task "t" {
      driver = "raw_exec" # last
    }
  }
}
# the end