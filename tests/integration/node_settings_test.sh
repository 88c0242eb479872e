#!/usr/bin/env bash
# The words of operators about single nodes: their pools, metadata that changes, how long allocations run without a server, the drain at
# an agent's own end.
. "$(dirname "$0")/lib.sh"

# --- a server that is a node of the default pool, and a node of another pool
config one << CONFIG
CONFIG
sed -i 's/^server {/server {\n  min_heartbeat_ttl = "2s"\n  heartbeat_grace   = "5s"/' "$WORK/one.hcl"
start one
SERVER=$AGENT
NODE_HTTP=$(free_port)
cat > "$WORK/two.hcl" << CONFIG
name      = "two"
data_dir  = "$WORK/two-data"
bind_addr = "127.0.0.1"
leave_on_terminate = true
ports {
  http = $NODE_HTTP
}
client {
  enabled           = true
  servers           = ["127.0.0.1:$RPC"]
  network_interface = "lo"
  node_pool         = "gpu"
  meta {
    rack  = "r1"
    owner = "ops"
  }
  drain_on_shutdown {
    deadline = "1s"
  }
  host_network "inside" {
    cidr           = "127.0.0.0/8"
    reserved_ports = "22,8500-8600"
  }
}
$RAW_EXEC
CONFIG
start_second() {
  "$DROVER" agent -config "$WORK/two.hcl" >> "$WORK/two.log" 2>&1 &
  SECOND=$!
  AGENTS+=("$SECOND")
}
start_second
two_is() { "$DROVER" operator api '/v1/nodes?filter=Name==two' | tr -d ' \n' | grep -q "\"Status\":\"$1\""; }
eventually 30 "no second node" two_is ready
TWO=$("$DROVER" operator api '/v1/nodes?filter=Name==two' | tr -d ' \n' | sed 's/.*"ID":"\([0-9a-f-]\{36\}\)".*/\1/')

shows_stats() { "$DROVER" node status -stats "$TWO" | grep -q "Host Resource Utilization"; }
eventually 20 "no use of the second node" shows_stats  # ready a moment before the servers have a way to it
expect 0 "CPU Stats" "$DROVER" node status -stats "$TWO"
expect 1 "-stats is about one node" "$DROVER" node status -stats

# job NAME POOL GROUP-LINES COMMAND: writes a job file.
job() {
  cat > "$WORK/$1.hcl" << JOB
job "$1" {
  node_pool = "$2"
  group "g" {
    $3
    task "t" {
      driver       = "raw_exec"
      kill_timeout = "1s"
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
allocs_say() { "$DROVER" job status "$1" | grep -q "$2"; } # JOB PATTERN

# --- node pools
expect 0 "gpu" "$DROVER" node pool list
expect 0 "Node pool with all nodes in the cluster." "$DROVER" node pool info all
expect 0 " two " "$DROVER" node pool nodes gpu
expect 1 "node pool not found" "$DROVER" node pool nodes none
expect 1 "modifying node pool \"all\" is not allowed" "$DROVER" operator api -X PUT /v1/node/pools '{"Name": "all"}'
expect 0 "Example node pool specification written to $WORK/pool.hcl" "$DROVER" node pool init "$WORK/pool.hcl"
expect 0 'Successfully applied node pool "example"!' "$DROVER" node pool apply "$WORK/pool.hcl"
expect 0 '"owner": "sre"' "$DROVER" operator api '/v1/node/pools?prefix=ex'
expect 0 "example" "$DROVER" node pool list -filter 'Meta.environment == prod'
expect 0 'Successfully deleted node pool "example"!' "$DROVER" node pool delete example
expect 1 "has nodes" "$DROVER" node pool delete gpu
job lost none "" "sleep 1000"
expect 1 'job "lost" is in nonexistent node pool "none"' "$DROVER" job run -detach "$WORK/lost.hcl"

# --- networks of the host by name
expect 0 "inside  127.0.0.0/8  <none>     22,8500-8600" "$DROVER" node status -verbose "$TWO"
expect 0 '"HostNetworks": {' "$DROVER" operator api "/v1/node/$TWO"
job ports gpu 'network {
  port "http" {
    static       = 8700
    host_network = "inside"
  }
}' "echo \$NOMAD_ADDR_http > $WORK/ports.address; exec sleep 1000"
expect 0 "" "$DROVER" job run -detach "$WORK/ports.hcl"
eventually 20 "the task has no address of its network" grep -qx 127.0.0.1:8700 "$WORK/ports.address"
expect 0 "" "$DROVER" job stop -detach ports
job taken gpu 'network {
  port "http" {
    static       = 8501
    host_network = "inside"
  }
}' "exec sleep 1000"
expect 0 "" "$DROVER" job run -detach "$WORK/taken.hcl"
eventually 10 "a reserved port was given away" allocs_say taken "Placement Failure"
expect 0 "" "$DROVER" job stop -purge -detach taken

# --- metadata that changes, and constraints that see it
job cards gpu 'constraint {
  attribute = "${meta.rack}"
  value     = "r2"
}' "echo \$\$ > $WORK/cards.pid; exec sleep 1000"
expect 0 "" "$DROVER" job run -detach "$WORK/cards.hcl"
eventually 10 "the job found a place although the rack is another one" allocs_say cards "Placement Failure"
expect 0 "rack  = r1" "$DROVER" node meta read -node-id "$TWO"
expect 1 "metadata key" "$DROVER" node meta apply -node-id "$TWO" "a b=c"
expect 0 "" "$DROVER" node meta apply -node-id "$TWO" -unset owner rack=r2 note=new
eventually 20 "the job does not run on the node whose metadata changed" allocs_say cards " run  *running "
expect 0 "cards" "$DROVER" node pool jobs gpu
kill -9 "$SECOND"
start_second
META="All Meta note = new rack = r2 Dynamic Meta note = new owner = <unset> rack = r2 Static Meta owner = ops rack = r1 "
meta_is_kept() {
  NOMAD_ADDR=http://127.0.0.1:$NODE_HTTP "$DROVER" node meta read | tr '\n' ' ' | tr -s ' ' | tee "$WORK/meta"
  [ "$(cat "$WORK/meta")" = "$META" ]
}
eventually 20 "the changes of the metadata are gone after a restart" meta_is_kept
expect 0 '"Static": {' "$DROVER" operator api "/v1/client/metadata?node_id=$TWO"

# --- a node that reaches no server stops what asked for that, and nothing else
job brief gpu 'stop_after_client_disconnect = "2s"' "echo \$\$ > $WORK/brief.pid; exec sleep 1000"
expect 0 "" "$DROVER" job run -detach "$WORK/brief.hcl"
eventually 20 "the job does not run" allocs_say brief " run  *running "
eventually 10 "the task wrote no number" test -s "$WORK/brief.pid"
kill -STOP "$SERVER"
eventually 30 "the allocation runs without a server" gone "$(cat "$WORK/brief.pid")"
! gone "$(cat "$WORK/cards.pid")" || fail "an allocation ended that did not ask for it"
kill -CONT "$SERVER"
eventually 30 "the node did not come back" two_is ready
expect 0 "" "$DROVER" job stop -detach brief

# --- an agent that ends gives its allocations away before
kill -TERM "$SECOND"
wait "$SECOND"
CODE=$?
[ $CODE -eq 0 ] || fail "the agent ended with $CODE after its drain"
gone "$(cat "$WORK/cards.pid")" || fail "the drained allocation runs"
expect 0 "shutting down" "$DROVER" operator api "/v1/node/$TWO"
expect 0 '"SchedulingEligibility": "ineligible"' "$DROVER" operator api "/v1/node/$TWO"
grep -q "the drain of this node is complete" "$WORK/two.log" || fail "the drain was not complete"

# --- a second signal does not wait for the drain, and the task goes on
start_second
eventually 20 "the node did not come back after its drain" two_is ready
expect 0 "eligible" "$DROVER" node eligibility -enable "$TWO"
job stubborn gpu "" "trap '' INT TERM; echo \$\$ > $WORK/stubborn.pid; while :; do sleep 1; done"
sed -i 's/kill_timeout = "1s"/kill_timeout = "25s"/' "$WORK/stubborn.hcl"
expect 0 "" "$DROVER" job run -detach "$WORK/stubborn.hcl"
eventually 20 "the job does not run again" test -s "$WORK/stubborn.pid"
drains() { [ "$(grep -c "drains this node before it ends" "$WORK/two.log")" = 2 ]; }
kill -TERM "$SECOND"
eventually 10 "the agent does not drain its node" drains
kill -TERM "$SECOND"
wait "$SECOND"
CODE=$?
[ $CODE -eq 1 ] || fail "the agent ended with $CODE after a second signal"
! gone "$(cat "$WORK/stubborn.pid")" || fail "the task ended with its agent"
passed
