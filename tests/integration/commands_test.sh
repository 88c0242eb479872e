#!/usr/bin/env bash
# Commands that look at one agent, its node and its allocations, against a real agent.
. "$(dirname "$0")/lib.sh"

config one << CONFIG
$RAW_EXEC
CONFIG
cat > "$WORK/web.nomad" << 'JOB'
job "web" {
  group "g" {
    count          = 2
    shutdown_delay = "10m"
    task "t" {
      driver = "raw_exec"
      config {
        command = "/bin/sh"
        args    = ["-c", "while :; do sleep 1; done"]
      }
      resources {
        cpu    = 20
        memory = 16
      }
    }
  }
}
JOB
start one
NODE=$("$DROVER" node status -quiet -verbose)

# The agent's own node, without its name.
expect 0 "ID              = $NODE" "$DROVER" node status -self
expect 0 "eligibility set: ineligible for scheduling" "$DROVER" node eligibility -self -disable
expect 0 "eligibility set: eligible for scheduling" "$DROVER" node eligibility -self -enable
expect 1 "Name a node, or set '-self'" "$DROVER" node eligibility -enable
expect 1 "Name a node, or set '-self'" "$DROVER" node status -self "$NODE"

# Allocations of a job, and what they use.
expect 0 "No allocations placed" bash -c "'$DROVER' job run -detach <(sed 's/count .*/count = 0/; s/\"web\"/\"none\"/' '$WORK/web.nomad') > /dev/null && '$DROVER' job allocs none"
expect 0 "" "$DROVER" job run -detach "$WORK/web.nomad"
both_run() { [ "$("$DROVER" job allocs web | grep -c ' running ')" = 2 ]; }
eventually 30 "the allocations do not run" both_run
expect 0 '"TaskGroup": "g"' "$DROVER" job allocs -json web
expect 1 "No job(s) with prefix or ID" "$DROVER" job allocs nothing
"$DROVER" node status -os -allocs | grep -Eq "^ID .* OS .* Running Allocs$" || fail "no further columns"
expect 0 "  2" "$DROVER" node status -allocs
ALLOC=$("$DROVER" job allocs -verbose web | awk 'NR == 2 { print $1 }')
shows_use() { "$DROVER" alloc status -stats "$ALLOC" | grep -A 2 '^Memory Stats' && "$DROVER" alloc status "$ALLOC" | grep -E '^[0-9]+/20 MHz +[0-9.]+ [KMi]*B/16.0 MiB'; }
eventually 20 "no use of the allocation" shows_use

# The servers of a node.
expect 0 "127.0.0.1:$RPC" "$DROVER" node config -servers
expect 0 "Updated server list" "$DROVER" node config -update-servers 10.0.0.1 "[fd00::1]:5000"
[ "$("$DROVER" node config -servers)" = "$(printf '127.0.0.1:%s\n10.0.0.1:4647\n[fd00::1]:5000' "$RPC")" ] || fail "the servers: $("$DROVER" node config -servers)"
expect 1 '"a/b" is no address of a server' "$DROVER" node config -update-servers a/b
expect 1 "Either '-servers' or '-update-servers' must be set" "$DROVER" node config
expect 0 "known_servers = 127.0.0.1:$RPC,10.0.0.1:4647" "$DROVER" agent-info

# Requests of a person's own.
expect 0 '"ID": "web"' "$DROVER" operator api -filter 'ID == "web"' /v1/jobs
expect 1 "-H: \"none\" is no header" "$DROVER" operator api -H none /v1/jobs
expect 0 '-H "X-Nomad-Token: ${NOMAD_TOKEN}"' "$DROVER" operator api -dryrun -token 7b1d2c3e-0000-4000-8000-123456789abc /v1/jobs
"$DROVER" operator api -dryrun -H "X-Nothing: it's" -filter 'ID == "web"' /v1/jobs > "$WORK/asked"
bash "$WORK/asked" 2> /dev/null | grep -q '"ID": *"web"' || fail "the command of curl does not work: $(cat "$WORK/asked")"
expect 0 "Configuration is valid!" "$DROVER" config validate "$WORK/one.hcl"
echo 'datacentre = "x"' > "$WORK/bad.hcl"
expect 1 'bad.hcl:1' "$DROVER" config validate "$WORK/bad.hcl"
expect 0 "" "$DROVER" system reconcile summaries

# Workers of the scheduler, changed while the server leads.
expect 0 '"workload_status": "WaitingToDequeue"' "$DROVER" operator api /v1/agent/schedulers
expect 0 '"num_schedulers": 1' "$DROVER" operator api /v1/agent/schedulers/config '{"num_schedulers": 1, "enabled_schedulers": ["_core", "batch"]}'
one_is_left() { [ "$("$DROVER" operator api /v1/agent/schedulers | grep -c '"workload_status"\|"service"')" = 1 ]; }
eventually 20 "the workers do not change" one_is_left
expect 255 'the leading server does not schedule jobs of type "service"' "$DROVER" job plan <(sed 's/"web"/"other"/' "$WORK/web.nomad")
expect 1 "Invalid request" "$DROVER" operator api /v1/agent/schedulers/config '{"num_schedulers": 1, "enabled_schedulers": ["none"]}'
expect 0 '"service"' "$DROVER" operator api /v1/agent/schedulers/config '{"num_schedulers": 2, "enabled_schedulers": ["batch", "service"]}'

# A stop that does not wait for ten minutes.
expect 0 "" "$DROVER" job stop -detach -no-shutdown-delay web
both_ended() { [ "$("$DROVER" job allocs web | grep -c ' complete ')" = 2 ]; }
eventually 30 "the allocations wait" both_ended
passed
