#!/usr/bin/env bash
# A node that knows one of three servers by its configuration: it hears of the others, and stays when the first is gone.
JOIN="one two three"
. "$(dirname "$0")/servers.sh"
take_serf one two three
for server in one two three; do
  server_config "$server" 3 'heartbeat_grace = "3s"
  min_heartbeat_ttl = "1s"' < /dev/null
  run_server "$server"
done
eventually 30 "no leader" leads one
NODE_HTTP=$(free_port)
cat > "$WORK/node.hcl" << CONFIG
name      = "node"
data_dir  = "$WORK/node-data"
bind_addr = "127.0.0.1"
ports {
  http = $NODE_HTTP
}
client {
  enabled           = true
  network_interface = "lo"
  server_join {
    retry_join = ["127.0.0.1:${RPC[one]}"]
  }
}
$RAW_EXEC
CONFIG
run_agent node
is_ready() { on two node status | grep -q ' ready$'; }
eventually 30 "the node does not join" is_ready
knows_all() {
  local known
  known=$(NOMAD_ADDR=http://127.0.0.1:$NODE_HTTP "$DROVER" operator api /v1/agent/self | grep -o '"known_servers": *"[^"]*"')
  for server in one two three; do [[ $known == *"127.0.0.1:${RPC[$server]}"* ]] || { echo "$known"; return 1; }; done
}
eventually 20 "the node does not hear of all servers" knows_all

kill -9 "${PID[one]}"
eventually 10 "the server lives" gone "${PID[one]}"
[ "$LEADER" != one ] || eventually 30 "no leader among the two" leads two one
cat > "$WORK/late.hcl" << 'JOB'
job "late" {
  group "g" {
    task "t" {
      driver = "raw_exec"
      config {
        command = "/bin/sleep"
        args    = ["1000"]
      }
    }
  }
}
JOB
export NOMAD_ADDR=http://127.0.0.1:${HTTP[two]}
expect 0 "" "$DROVER" job run -detach "$WORK/late.hcl"
runs() { "$DROVER" job status late | grep -q ' run .* running '; }
eventually 40 "the job does not run without the server that the node was told of" runs
is_ready || fail "the node is not ready: $("$DROVER" node status)"
expect 0 "" "$DROVER" job stop -purge -detach late
passed
