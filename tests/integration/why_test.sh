#!/usr/bin/env bash
# The commands that have the scheduler explain itself, against a real agent: job why, alloc why, what-if. docs/operator/why.md
# shows what they print.
. "$(dirname "$0")/lib.sh"

config one <<< "$RAW_EXEC"
start one
cd "$WORK" || exit 1
job() { # NAME MEMORY [COUNT]
  cat > "$1.hcl" << JOB
job "$1" {
  group "app" {
    count = ${3:-2}
    update {
      min_healthy_time = "0s"
    }
    network {
      port "http" {}
    }
    task "main" {
      driver = "raw_exec"
      config {
        command = "/bin/sleep"
        args    = ["1000"]
      }
      resources {
        cpu    = 20
        memory = $2
      }
    }
  }
}
JOB
}
node=$("$DROVER" node status -t '{{range .}}{{.ID}}{{end}}')
is_running() { [ "$("$DROVER" job status "$1" | awk '/^Allocations/ {found = 1} found && /running/ {n++} END {print n + 0}')" = 2 ]; }

# --- a job that waits
job big 9000000
expect 0 "Job registration successful" "$DROVER" job run -detach big.hcl
is_blocked() { "$DROVER" job why big | grep -q "waits for room"; }
eventually 20 "nothing waits for room" is_blocked
expect 0 'Group "app": 2 wanted, 0 running, 2 without a place' "$DROVER" job why big
expect 0 "* 1 node: memory" "$DROVER" job why big
expect 0 "MB less memory (1 node)" "$DROVER" job why big
expect 0 '"Kind": "memory"' "$DROVER" job why -json big
expect 1 'has no group "db"' "$DROVER" job why -group db big
expect 1 "No job(s) with prefix or ID" "$DROVER" job why nothing

# The change that it names is enough.
short=$("$DROVER" job why -t '{{range .Changes}}{{if eq .Kind "memory"}}{{.Amount}}{{end}}{{end}}' big)
job big $((9000000 - short)) 1
is_placed() { "$DROVER" job why big | grep -q "1 wanted, 1 running, 0 without a place"; }
expect 0 "Job registration successful" "$DROVER" job run -detach big.hcl
eventually 20 "the change that was named is not enough" is_placed
expect 0 "" "$DROVER" job stop -purge -detach big

# --- one that runs
job web 10
expect 0 "Job registration successful" "$DROVER" job run -detach web.hcl
eventually 30 "web does not run" is_running web
expect 0 "The best nodes for one more" "$DROVER" job why web
alloc=$("$DROVER" job status web | awk '/^Allocations/ {getline; getline; print $1}')
expect 0 "The best nodes when it was placed" "$DROVER" alloc why "$alloc"
expect 0 "job-anti-affinity" "$DROVER" alloc why "$alloc"

# --- what would be if: nothing of it happens
expect 2 "* 2 of web/app" "$DROVER" what-if -drain "$node"
expect 0 "like-" "$DROVER" what-if -drain "$node" -add-node "$node=2"
expect 0 '"From": "'"$node"'"' "$DROVER" what-if -json -fail "$node" -add-node "$node=1"
job more 10
expect 0 "new" "$DROVER" what-if more.hcl
expect 0 "After" "$DROVER" what-if -algorithm spread
expect 1 "say what would change" "$DROVER" what-if
expect 1 "AddNodes.Count is 1 to 10000" "$DROVER" what-if -add-node "$node=0"
sed 's/group "app"/group ""/' more.hcl > bad.hcl
expect 1 "group[0]: has no name" "$DROVER" what-if bad.hcl
expect 1 "No job(s)" "$DROVER" job status more

# --- a plan that is done exactly, or not at all
expect 1 "The plan is in more.plan" "$DROVER" job plan -out more.plan more.hcl
expect 1 "exclude each other" "$DROVER" job run -plan more.plan -check-index 1 more.hcl
expect 0 "Job registration successful" "$DROVER" job run -detach -plan more.plan more.hcl
expect 0 'Group "app": 2 wanted, 2 running' "$DROVER" job why more
expect 1 "has changed since it was planned" "$DROVER" job run -detach -plan more.plan more.hcl
job more 11
expect 1 "The plan is in more.plan" "$DROVER" job plan -out more.plan more.hcl
job more 12
expect 0 "Job registration successful" "$DROVER" job run -detach more.hcl
expect 1 "has changed since it was planned" "$DROVER" job run -detach -plan more.plan more.hcl
echo '{}' > more.plan
expect 1 "is no plan as" "$DROVER" job run -detach -plan more.plan more.hcl
is_running web || fail "asking changed something"
expect 0 "ready" "$DROVER" node status "$node"
passed
