#!/usr/bin/env bash
# People's habits and other tools count on this: the program under its other name, flags with one dash, configuration
# told apart by content, -dev over a file, exit codes.
. "$(dirname "$0")/lib.sh"

ln -s "$DROVER" "$WORK/nomad"
expect 0 "Nomad v" "$WORK/nomad" -version
expect 0 "Nomad v" "$WORK/nomad" version
expect 0 "Usage: drover job run" "$WORK/nomad" job run -h

# JSON by content, whatever the file is called; -dev wins over the file's client block.
HTTP=$(free_port)
RPC=$(free_port)
export NOMAD_ADDR=http://127.0.0.1:$HTTP
cat > "$WORK/dev.hcl" << CONFIG
{"client": {"enabled": false}, "ports": {"http": $HTTP, "rpc": $RPC}}
CONFIG
BEGAN=$(date +%s%N)
"$WORK/nomad" agent -dev -config "$WORK/dev.hcl" > "$WORK/dev.log" 2>&1 &
AGENT=$!
AGENTS+=("$AGENT")
disown "$AGENT"
eventually 10 "no ready node" node_is_ready
echo "ready after $((($(date +%s%N) - BEGAN) / 1000000)) ms"
expect 0 "127.0.0.1:$RPC" "$DROVER" operator api /v1/status/leader
expect 0 '"ok": true' "$DROVER" operator api /v1/agent/health

# Tools read these fields of an agent and its metrics.
self_says() { "$DROVER" operator api /v1/agent/self | tee "$WORK/said" | grep -q -- "$1"; }
for text in '"NodeName": "[^"]' '"ACL": {' '"TLSConfig": {' '"EnableRPC": false' '"AdvertiseAddrs": {' '"Version": "' '"DevMode": true' \
  '"HTTPMaxConnsPerClient": 100' '"EvalGCThreshold": "1h' '"MaxKillTimeout": "30s"' '"LeaveOnInt": ' '"latest_configuration": "\[{Suffrage:Voter'; do
  self_says "$text" || fail "agent/self does not say $text: $(cat "$WORK/said")"
done
eventually 10 "agent/self names no node" self_says '"node_id": "[^"]'
expect 1 "-format: \"xml\" is neither json nor prometheus" "$DROVER" operator metrics -format=xml
metrics_say() { "$DROVER" operator metrics -format=prometheus | grep -q -- "$1"; }
for text in '# HELP nomad_nomad_broker_total_ready ' '^nomad_nomad_broker_total_ready{host="' '^nomad_client_host_memory_total{node_id="' \
  '^nomad_client_unallocated_cpu{' '^nomad_nomad_heartbeat_active{'; do
  eventually 10 "metrics lack $text" metrics_say "$text"
done

# Refused: filters that cannot be read, parameters that a list would ignore, and paths that are not there.
for list in jobs nodes evaluations evaluations/count allocations deployments; do
  expect 1 "failed to read filter expression" "$DROVER" operator api "/v1/$list?filter=x"
done
for list in agent/members status/peers; do
  expect 1 "this answer takes no filter" "$DROVER" operator api "/v1/$list?filter=x"
done
expect 1 "not divided into pages" "$DROVER" operator api "/v1/evaluations/count?per_page=1"
expect 1 "ACL support disabled" "$DROVER" operator api /v1/acl/policies
expect 1 "Nomad Enterprise only endpoint" "$DROVER" operator api /v1/quotas
expect 1 "job not found" "$DROVER" operator api /v1/job/none

# Nomad's clients and command line read these.
NODE=$("$DROVER" node status -verbose | awk 'NR == 2 { print $1 }')
expect 0 '"MemoryMaxMB": 0' "$DROVER" operator api "/v1/node/$NODE"
expect 0 '"EvalIDs": null' "$DROVER" operator api -X PUT "/v1/node/$NODE/evaluate"
expect 0 "[]" "$DROVER" operator api /v1/node/nobody/allocations
expect 0 "null" "$DROVER" operator api /v1/job/none/deployment
expect 0 "[]" "$DROVER" operator api /v1/job/none/deployments
expect 1 "Invalid method" "$DROVER" operator api /v1/job/none/evaluate
expect 0 "" "$DROVER" operator api -X PUT /v1/system/reconcile/summaries
expect 1 "eval broker is enabled" "$DROVER" operator api -X DELETE /v1/evaluations
NOBODY=00000000-0000-0000-0000-000000000000
expect 1 "Unknown allocation \"$NOBODY\"" "$DROVER" operator api "/v1/client/fs/logs/$NOBODY?task=t&type=stdout"
expect 0 "Shows what running a job would change." "$DROVER" help
expect 127 "run             Starts running a job" "$DROVER" job

# Evaluations are deleted while the broker is paused, and do not come back when it runs again.
cat > "$WORK/waits.hcl" << 'JOB'
job "waits" {
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
expect 1 "Evaluations are only deleted while the eval broker is paused" "$DROVER" eval delete -yes -filter "JobID == waits"
expect 0 "updated" "$DROVER" operator scheduler set-config -pause-eval-broker=true
for i in 1 2 3; do expect 0 "" "$DROVER" job run -detach "$WORK/waits.hcl"; sed -i "s/count = .*//; s/group \"g\" {/group \"g\" {\ncount = $i/" "$WORK/waits.hcl"; done
ID=$("$DROVER" eval list -verbose -job waits | awk 'NR == 2 { print $1 }')
expect 1 "not both" "$DROVER" eval delete -filter "JobID == waits" "$ID"
expect 0 "Are you sure you want to delete 3 evaluations? [y/N] Cancelling" "$DROVER" eval delete -filter "JobID == waits"
expect 0 "Successfully deleted 1 evaluation" "$DROVER" eval delete -yes "$ID"
expect 1 "eval not found" "$DROVER" operator api -X DELETE /v1/evaluations "{\"EvalIDs\": [\"$ID\"]}"
expect 0 '"Count": 2' "$DROVER" operator api -X DELETE /v1/evaluations '{"Filter": "JobID == waits"}'
expect 0 "No evaluations were deleted" "$DROVER" eval delete -yes -filter "JobID == waits"
expect 0 "updated" "$DROVER" operator scheduler set-config -pause-eval-broker=false
expect 0 "No evals found" "$DROVER" eval list -job waits
expect 0 "" "$DROVER" job stop -purge waits

kill -TERM "$AGENT"
eventually 15 "the agent did not stop" gone "$AGENT"
grep -q "request complete method=GET path=/v1/jobs duration=" "$WORK/dev.log" || fail "requests are not logged"
! grep "allocations not read from the servers" "$WORK/dev.log" | grep WARN || fail "its own end made the agent warn"
passed
