#!/usr/bin/env bash
# Jobs that start others, and what changes a job beside its file, against a real agent: dispatch with a payload, periodic
# launches, versions with revert, start and tags, scaling with its events and policies.
. "$(dirname "$0")/lib.sh"

config one <<< "$RAW_EXEC"
start one
cd "$WORK" || exit 1
status_is() { "$DROVER" job status -t '{{.Status}}' "$1" | grep -qx "$2"; }
launched_at_least() { [ "$("$DROVER" job status often | grep -c '^often/periodic-')" -ge "$1" ]; }

# --- parameterized
cat > render.hcl << 'JOB'
job "render" {
  type = "batch"
  parameterized {
    payload       = "required"
    meta_required = ["who"]
  }
  group "g" {
    task "t" {
      driver = "raw_exec"
      dispatch_payload {
        file = "input.txt"
      }
      config {
        command = "/bin/sh"
        args    = ["-c", "echo for $NOMAD_META_who: $(cat local/input.txt) > $NOMAD_ALLOC_DIR/out; cat $NOMAD_ALLOC_DIR/out"]
      }
    }
  }
}
JOB
expect 0 "Job registration successful" "$DROVER" job run render.hcl
expect 0 "No dispatched instances" "$DROVER" job status render
echo "a picture" > picture.txt
expect 0 "Dispatched Job ID = render/dispatch-" "$DROVER" job dispatch -meta who=me -idempotency-token once render picture.txt
child=$("$DROVER" job status -t '{{range .}}{{if .ParentID}}{{.ID}}{{end}}{{end}}')
expect 0 "Dispatched Job ID = $child" "$DROVER" job dispatch -detach -meta who=me -idempotency-token once render picture.txt
eventually 20 "the child does not end" status_is "$child" dead
alloc=$("$DROVER" job status "$child" | awk '/^Allocations/ {getline; getline; print $1}')
expect 0 "for me: a picture" "$DROVER" alloc logs "$alloc"
expect 1 "Dispatch did not provide required meta keys: [who]" "$DROVER" job dispatch render picture.txt
expect 1 "Payload is not provided but required by parameterized job" "$DROVER" job dispatch -meta who=me render
expect 1 "can't evaluate parameterized job" "$DROVER" job eval render

# --- periodic
cat > often.hcl << 'JOB'
job "often" {
  type = "batch"
  periodic {
    cron = "* * * * * * *"
  }
  group "g" {
    task "t" {
      driver = "raw_exec"
      config {
        command = "/bin/true"
      }
    }
  }
}
JOB
expect 0 "Approximate next launch time:" "$DROVER" job run often.hcl
eventually 20 "it is not launched every second" launched_at_least 2
sed -i 's/cron = .*/cron = "0 0 1 1 *"/' often.hcl
expect 0 "" "$DROVER" job run often.hcl
expect 0 "triggered by job \"often/periodic-" "$DROVER" job periodic force often
expect 0 "" "$DROVER" job stop often
expect 1 "can't force run non-tracked job \"often\"" "$DROVER" job periodic force often
expect 1 "can't force launch non-periodic job" "$DROVER" job periodic force render

# --- versions and scaling
cat > web.hcl << 'JOB'
job "web" {
  group "g" {
    count = 1
    scaling {
      min = 1
      max = 3
    }
    task "t" {
      driver = "raw_exec"
      config {
        command = "/bin/sleep"
        args    = ["600"]
      }
      resources {
        cpu    = 20
        memory = 16
      }
    }
  }
}
JOB
expect 0 'finished with status "complete"' "$DROVER" job run web.hcl
expect 0 'tagged with name "golden"' "$DROVER" job tag apply -name golden -version 0 web
expect 0 'finished with status "complete"' "$DROVER" job scale web 2
expect 1 "group count was greater than scaling policy maximum: 4 > 3" "$DROVER" job scale web 4
expect 1 "group count was less than scaling policy minimum: 0 < 1" "$DROVER" job scale web g 0
expect 0 "g           2      1 " "$DROVER" job scaling-events web
expect 0 "true     horizontal  Group:g,Job:web,Namespace:default" "$DROVER" scaling policy list
policy=$("$DROVER" scaling policy list -t '{{range .}}{{.ID}}{{end}}')
expect 0 "Max     = 3" "$DROVER" scaling policy info "${policy:0:8}"
expect 0 'Count: "1" => "2"' "$DROVER" job history -diff-tag golden web
expect 0 'finished with status "complete"' "$DROVER" job revert web 0
expect 1 "can't revert to current version" "$DROVER" job revert web 2
expect 0 "" "$DROVER" job stop web
expect 0 "false" "$DROVER" scaling policy list
expect 0 'finished with status "complete"' "$DROVER" job start web
expect 0 "has not been stopped" "$DROVER" job start web
expect 0 'JobVersionTag "golden" removed' "$DROVER" job tag unset -name golden web
expect 0 "" "$DROVER" job stop -purge web often render
expect 0 "No policies found" "$DROVER" scaling policy list
passed
