#!/usr/bin/env bash
# Many services that do not change: simulated nodes with SERVICES_PER_NODE each, three checks to a service. Tells the
# server's share of a core (/proc/PID/stat) and its log entries, for a while without the services and as long with them.
#   services_bench.sh [NODES [SERVICES_PER_NODE [SECONDS]]]     1000 10 60
JOIN=""
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
export DROVER=${DROVER:-$HERE/../../../build-release/bin/drover}
. "$HERE/../../integration/servers.sh"
NODES=${1:-1000} EACH=${2:-10} SECONDS_LONG=${3:-60}

take_serf one
server_config one 1 <<< 'telemetry { prometheus_metrics = true }'
run_server one
eventually 60 "no leader" leads one
"$DROVER" dev nodesim -servers "127.0.0.1:${RPC[one]}" -count "$NODES" > "$WORK/nodesim.out" 2> "$WORK/nodesim.log" &
AGENTS+=("$!")

job() { # SERVICES
  local i check
  printf 'job "many" {\n  group "g" {\n    count = %s\n    constraint {\n' "$NODES"
  printf '      distinct_hosts = true\n    }\n    update {\n      max_parallel = 0\n    }\n'
  for ((i = 0; i < $1; i++)); do
    printf '    service {\n      name     = "s%s"\n      provider = "nomad"\n' "$i"
    printf '      address  = "10.0.0.1"\n      port     = "%s"\n      tags     = ["a", "b"]\n' $((8000 + i))
    for check in a b c; do
      printf '      check {\n        name     = "%s"\n        type     = "tcp"\n' "$check"
      printf '        interval = "10s"\n        timeout  = "2s"\n      }\n'
    done
    printf '    }\n'
  done
  printf '    task "t" {\n      driver = "raw_exec"\n      config {\n        command = "/bin/false"\n      }\n'
  printf '      resources {\n        cpu    = 10\n        memory = 10\n      }\n    }\n  }\n}\n'
}
runs() { tail -n 1 "$WORK/nodesim.log" | tee "$WORK/said" | grep -q "allocations running $NODES," || { cat "$WORK/said"; return 1; }; }
ready() { tail -n 1 "$WORK/nodesim.log" | tee "$WORK/said" | grep -q "nodes ready $NODES of" || { cat "$WORK/said"; return 1; }; }
rows() { on one operator api "/v1/service/s$((EACH - 1))" | grep -c '"ID"'; }
all_there() { [ "$(rows)" -eq "$NODES" ] || { rows; return 1; }; }
jiffies() { awk '{ print $14 + $15 }' "/proc/${PID[one]}/stat"; }
# Those of all commands, and those that services make.
entries() {
  on one operator metrics -format prometheus |
    awk '/^nomad_raft_fsm_apply_count/ { all += $2; if (/Service/) services += $2 } END { print all + 0, services + 0 }'
}
wait_seconds() { read -r -t "$1" -u "$NEVER" || true; }
settles() { # deployments and first words are over when ten seconds bring no other entries than those of heartbeats
  local before after
  before=$(on one operator metrics -format prometheus | grep '^nomad_raft_fsm_apply_count' | grep -v Heartbeat)
  wait_seconds 5
  after=$(on one operator metrics -format prometheus | grep '^nomad_raft_fsm_apply_count' | grep -v Heartbeat)
  [ "$before" = "$after" ]
}
measure() { # WHAT
  local used log_all log_services more_all more_services
  eventually 120 "the cluster does not come to rest" settles
  read -r log_all log_services < <(entries)
  used=$(jiffies)
  wait_seconds "$SECONDS_LONG"
  used=$(($(jiffies) - used))
  read -r more_all more_services < <(entries)
  awk -v used="$used" -v hz="$(getconf CLK_TCK)" -v s="$SECONDS_LONG" -v what="$1" \
    -v all=$((more_all - log_all)) -v services=$((more_services - log_services)) \
    'BEGIN { printf "%-34s %5.1f %% of a core   %d log entries, %d of services\n", what, 100 * used / hz / s, all, services }'
}

eventually 120 "the nodes are not ready" ready
job 0 > "$WORK/none.hcl"
job "$EACH" > "$WORK/many.hcl"
on one job run -detach "$WORK/none.hcl" > /dev/null || fail "the job is refused"
eventually 120 "the allocations do not run" runs
measure "$NODES nodes, no services"
on one job run -detach "$WORK/many.hcl" > /dev/null || fail "the job is refused"
eventually 120 "not all services are there" all_there
measure "$NODES nodes, $((NODES * EACH)) services"
