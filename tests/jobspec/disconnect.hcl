job "far" {
  group "g" {
    disconnect {
      lost_after = "6h"
      replace    = false
      reconcile  = "keep_original"
    }
    prevent_reschedule_on_lost = true
    max_run_duration           = "1h"
    task "t" {
      driver = "raw_exec"
    }
  }
  group "wrong" {
    disconnect {
      lost_after           = "1h"
      stop_on_client_after = "1h"
      reconcile            = "coin"
    }
    task "t" {
      driver = "raw_exec"
    }
  }
  group "nobody" {
    disconnect {
      stop_on_client_after = "1h"
      replace              = false
    }
    prevent_reschedule_on_lost = true
    task "t" {
      driver = "raw_exec"
    }
  }
}
