#!/usr/bin/env bash
# Fifty simulated nodes with a real server: a job is placed on them, runs, is found by its service and is stopped; their
# reports share log entries.
JOIN=""
. "$(dirname "$0")/servers.sh"

take_serf one
server_config one 1 <<< 'telemetry { prometheus_metrics = true }'
run_server one
eventually 20 "no leader" leads one

expect 1 "unknown option -cuont" "$DROVER" dev nodesim -cuont 50
expect 1 "nodes ready 0 of 1" "$DROVER" dev nodesim -servers 127.0.0.1:1 -duration 300ms

"$DROVER" dev nodesim -servers "127.0.0.1:${RPC[one]}" -count 50 -class simulated -report-every 1s -in-step \
  > "$WORK/nodesim.out" 2> "$WORK/nodesim.log" &
NODESIM=$!
AGENTS+=("$NODESIM")
nodes_are_ready() { [ "$(on one node status | tee "$WORK/nodes" | grep -c ' ready$')" -eq 50 ] || { tail -n 3 "$WORK/nodes"; return 1; }; }
eventually 20 "the nodes are not ready" nodes_are_ready

cat > "$WORK/many.nomad" << 'JOB'
job "many" {
  constraint {
    attribute = "${node.class}"
    value     = "simulated"
  }
  group "g" {
    count = 100
    service {
      name     = "shown"
      provider = "nomad"
      address  = "10.0.0.1"
      port     = "8000"
    }
    task "t" {
      driver = "raw_exec"
      config {
        command = "/bin/false"
      }
      resources {
        cpu    = 100
        memory = 64
      }
    }
  }
}
JOB
expect 0 "" on one job run -detach "$WORK/many.nomad"
summary() { on one operator api /v1/job/many/summary | tr -d ' \n' | tee "$WORK/summary" | grep -q -- "$1"; }
summary_says() { summary "$1" || { cat "$WORK/summary"; return 1; }; }
eventually 20 "the job does not run" summary_says '"Running":100'
progress_says() { tail -n 1 "$WORK/nodesim.log" | tee "$WORK/said" | grep -q -- "$1" || { cat "$WORK/said"; return 1; }; }
# Every node says the services of its allocations, and no longer when they are stopped.
instances() { on one operator api /v1/service/shown | grep -c '"ServiceName"' | tee "$WORK/instances"; }
instances_are() { [ "$(instances)" -eq "$1" ] || { cat "$WORK/instances"; return 1; }; }
eventually 20 "the services are not there" instances_are 100
eventually 10 "the nodes do not say so" progress_says "nodes ready 50 of 50, allocations running 100"

# Several times fifty nodes report at the same moment, and each time that is a few entries.
metric() { on one operator metrics -format prometheus | sed -n "s/^nomad_raft_fsm_apply_count{command=\"$1\".*} //p"; }
reports() { tail -n 1 "$WORK/nodesim.log" | sed 's/.*reports \([0-9]*\).*/\1/'; }
many_reports() { [ "$(reports)" -ge 250 ] || { reports; return 1; }; }
eventually 15 "the nodes do not report again" many_reports
ENTRIES=$(metric AllocationsReported)
[ "${ENTRIES:-0}" -gt 0 ] && [ $((ENTRIES * 5)) -le "$(reports)" ] || fail "$(reports) reports made ${ENTRIES:-no} log entries"

expect 0 "" on one job stop -detach many
eventually 20 "the job is not stopped" summary_says '"Complete":100'
eventually 20 "the services are still there" instances_are 0

kill -INT "$NODESIM"
eventually 10 "the simulation does not end" gone "$NODESIM"
expect 0 "nodes ready 50 of 50, allocations running 0" cat "$WORK/nodesim.out"
passed
