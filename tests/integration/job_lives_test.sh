#!/usr/bin/env bash
# The lives of jobs on a server with two nodes: a rolling update, canaries and their promotion, a revert by itself, system jobs,
# filters, a drain, periodic and parameterized jobs, as an operator drives them.
. "$(dirname "$0")/lib.sh"

# --- a server that is a node, and a second node
config one <<< "$RAW_EXEC"
sed -i 's/^server {/server {\n  min_heartbeat_ttl = "2s"\n  heartbeat_grace   = "5s"/' "$WORK/one.hcl"
start one
NODE_HTTP=$(free_port)
client_config two "$NODE_HTTP" "$RPC" <<< "$RAW_EXEC"
"$DROVER" agent -config "$WORK/two.hcl" >> "$WORK/two.log" 2>&1 &
SECOND=$!
AGENTS+=("$SECOND")
disown "$SECOND"
ready_nodes() { [ "$("$DROVER" node status -filter 'Status == ready' | grep -c ' ready$')" = "$1" ]; }
eventually 30 "no second node" ready_nodes 2

# job NAME TYPE GROUP-LINES COMMAND: writes a job file.
job() {
  cat > "$WORK/$1.hcl" << JOB
job "$1" {
  type = "$2"
  $5
  group "g" {
    $3
    task "t" {
      driver = "raw_exec"
      config {
        command = "/bin/sh"
        args    = ["-c", "$4"]
      }
      resources {
        cpu    = 20
        memory = 16
      }
    }
  }
}
JOB
}
rolling() { # CANARIES COMMAND MORE
  printf 'count = 2\n    restart {\n attempts = 0\n mode = "fail"\n }\n    update {\n max_parallel = 1\n min_healthy_time = "100ms"\n healthy_deadline = "60s"\n progress_deadline = "%s"\n canary = %s\n %s\n }\n' \
    "${4:-120s}" "$1" "${3:-}" > "$WORK/group"
  job roll service "$(cat "$WORK/group")" "$2" ""
}
deployed() { # VERSION STATUS
  "$DROVER" operator api /v1/job/roll/deployment | tr -d ' \n' | grep -q "\"JobVersion\":$1,.*\"Status\":\"$2\""
}
running_versions() { # "0 0": the versions of running allocations
  [ "$("$DROVER" job status roll | awk '$5 == "run" && $6 == "running" { print $4 }' | sort | tr '\n' ' ')" = "$1 " ]
}

# --- a rolling update
rolling 0 "sleep 1000"
expect 0 "" "$DROVER" job run -detach "$WORK/roll.hcl"
eventually 30 "the first deployment did not succeed" deployed 0 successful
rolling 0 "sleep 1001"
expect 0 "" "$DROVER" job run -detach "$WORK/roll.hcl"
eventually 40 "the rolling update did not succeed" deployed 1 successful
eventually 10 "not all run the new version" running_versions "1 1"

# --- a canary, and its promotion
rolling 1 "sleep 1002"
expect 0 "" "$DROVER" job run -detach "$WORK/roll.hcl"
eventually 20 "the canary does not run beside the others" running_versions "1 1 2"
ID=$("$DROVER" operator api /v1/job/roll/deployment | tr -d ' \n' | sed 's/.*"ID":"\([0-9a-f-]\{36\}\)".*/\1/')
expect 0 "requires manual promotion" "$DROVER" deployment status "$ID"
healthy_canary() { "$DROVER" operator api "/v1/deployment/$ID" | tr -d ' \n' | grep -q '"HealthyAllocs":1'; }
eventually 20 "the canary is not healthy" healthy_canary
expect 0 "" "$DROVER" deployment promote -detach "$ID"
eventually 40 "the promoted deployment did not succeed" deployed 2 successful
eventually 10 "not all run the promoted version" running_versions "2 2"

# --- restarted where they are, one after the other, and then placed anew
restarted() { "$DROVER" operator api /v1/job/roll/allocations | tr -d ' \n' | grep -o '"Restarts":1' | wc -l; }
expect 0 "Finished job restart" "$DROVER" job restart roll
[ "$(restarted)" = 2 ] || fail "not both allocations have restarted once, but $(restarted)"
running_versions "2 2" || fail "not both run when the restart is done"
expect 0 "is replaced by" "$DROVER" job restart -reschedule -batch-size=50% -on-error=fail -group=g roll
running_versions "2 2" || fail "not two run when all are replaced"

# --- a version that does not work goes back by itself
rolling 0 "sleep 1003"
expect 0 "" "$DROVER" job run -detach "$WORK/roll.hcl"
eventually 40 "the update without a canary did not succeed" deployed 3 successful
rolling 0 "exit 1" "auto_revert = true" 0
expect 0 "" "$DROVER" job run -detach "$WORK/roll.hcl"
eventually 40 "the job did not go back" deployed 5 successful
eventually 20 "not all run again" running_versions "5 5"
expect 0 "rolling back to job version 3" "$DROVER" deployment list -verbose

# --- system jobs
job everywhere system "" "sleep 1000" ""
expect 0 "" "$DROVER" job run -detach "$WORK/everywhere.hcl"
running_of() { [ "$("$DROVER" job status "$1" | grep -c ' run  *running ')" = "$2" ]; }
eventually 20 "the system job is not on both nodes" running_of everywhere 2

# --- filters
expect 0 "roll" "$DROVER" operator api "/v1/jobs?filter=Type==service"
case $("$DROVER" operator api "/v1/jobs?filter=Type==service") in *everywhere*) fail "the filter let a system job pass" ;; esac
expect 1 "1:8 (7): no match found" "$DROVER" eval list -filter "Status = complete"

# --- a drain: services move, and system jobs last
TWO=$("$DROVER" operator api '/v1/nodes?filter=Name==two' | tr -d ' \n' | sed 's/.*"ID":"\([0-9a-f-]\{36\}\)".*/\1/')
expect 0 "Drain complete for node $TWO" timeout 60 "$DROVER" node drain -enable -yes -deadline 50s "$TWO"
on_two() { "$DROVER" node status "$TWO" | awk '$6 == "running"' | wc -l; }
[ "$(on_two)" = 0 ] || fail "something still runs on the drained node"
eventually 20 "the service is not whole elsewhere" running_versions "5 5"
expect 0 "Node drain complete" "$DROVER" node status "$TWO"
expect 0 "" "$DROVER" node drain -disable -yes "$TWO"
eventually 20 "the system job is not back" running_of everywhere 2

# --- a node that is out of reach for a while: its work is replaced meanwhile, and one of both stays
job patient service 'max_client_disconnect = "5m"
    affinity {
      attribute = "${node.unique.name}"
      value     = "two"
    }' "sleep 1000" ""
expect 0 "" "$DROVER" job run -detach "$WORK/patient.hcl"
patient() { "$DROVER" job status patient | awk -v node="$1" -v status="$2" '$2 == substr(node, 1, 8) && $5 == "run" && $6 == status { found = 1 } END { exit !found }'; }
eventually 20 "it does not run where it would rather" patient "$TWO" running
kill -STOP "$SECOND"
eventually 30 "it is not out of reach" patient "$TWO" unknown
eventually 20 "nothing replaces it" running_of patient 1
kill -CONT "$SECOND"
back() { ready_nodes 2 && running_of patient 1 && ! patient "$TWO" unknown; }
eventually 60 "not one of both stays" back
eventually 20 "the system job is not whole again" running_of everywhere 2

# --- parameterized and periodic jobs
job greet batch "" "cat local/input; echo to \$NOMAD_META_whom" 'parameterized {
    payload = "required"
    meta_required = ["whom"]
  }'
sed -i 's/    task "t" {/    task "t" {\n      dispatch_payload { file = "input" }/' "$WORK/greet.hcl"
expect 0 "" "$DROVER" job run -detach "$WORK/greet.hcl"
expect 1 "Payload is not provided but required" "$DROVER" job dispatch -detach -meta whom=world greet
echo hello > "$WORK/payload"
expect 0 "Dispatched Job ID" "$DROVER" job dispatch -detach -meta whom=world greet "$WORK/payload"
greeted() {
  local alloc
  alloc=$("$DROVER" operator api '/v1/allocations?filter=JobID+matches+"^greet/dispatch"' | tr -d ' \n' | sed -n 's/.*"ID":"\([0-9a-f-]\{36\}\)".*/\1/p')
  [ -n "$alloc" ] && "$DROVER" alloc logs "$alloc" t | tr '\n' ' ' | grep -q 'hello to world'
}
eventually 20 "the dispatched job did not greet" greeted
job tick batch "" "echo tick" 'periodic { cron = "0 0 1 1 *" }'
expect 0 "" "$DROVER" job run -detach "$WORK/tick.hcl"
expect 0 "" "$DROVER" job periodic force -detach tick
ticked() { "$DROVER" operator api '/v1/jobs?filter=ParentID==tick' | tr -d ' \n' | grep -q '"ID":"tick/periodic-[0-9]*".*"Status":"dead"'; }
eventually 20 "the periodic job was not launched" ticked
passed
