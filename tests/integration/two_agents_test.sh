#!/usr/bin/env bash
# A server agent and a client agent of its own: registration, a job, logs and restarts across, and a server that dies.
. "$(dirname "$0")/lib.sh"

SERVER_HTTP=$(free_port) SERVER_RPC=$(free_port) CLIENT_HTTP=$(free_port)
export NOMAD_ADDR=http://127.0.0.1:$SERVER_HTTP
server_config server "$SERVER_HTTP" "$SERVER_RPC" < /dev/null
client_config client "$CLIENT_HTTP" "$SERVER_RPC" <<< "$RAW_EXEC"
cat > "$WORK/talk.nomad" << 'JOB'
job "talk" {
  group "g" {
    task "t" {
      driver = "raw_exec"
      config {
        command = "/bin/sh"
        args    = ["-c", "echo started as $$; exec sleep 1000"]
      }
      resources {
        cpu    = 20
        memory = 16
      }
    }
  }
}
JOB
on_client() { NOMAD_ADDR=http://127.0.0.1:$CLIENT_HTTP "$DROVER" "$@"; }
says() { local text=$1; shift; "$@" 2>&1 | tee "$WORK/said" | grep -q "$text" || { cat "$WORK/said"; return 1; }; }
lines() { [ "$("$DROVER" alloc logs "$ALLOC" t | grep -c 'started as')" = "$1" ]; }
running() { "$DROVER" alloc status "$ALLOC" | grep -q 'is "running"\|= *running'; }
first_alloc() { ALLOC=$("$DROVER" job status talk | awk '/^Allocations/ { found = 1 } found && / run / { print $1; exit }'); [ -n "$ALLOC" ]; }

# An address that is taken, and a client without servers, are told by the option.
sed 's/^  servers .*//' "$WORK/client.hcl" > "$WORK/alone.hcl"
expect 1 "client.servers is empty" "$DROVER" agent -config "$WORK/alone.hcl"

run_agent server
SERVER=$AGENT
eventually 20 "no leader" says '127.0.0.1' "$DROVER" operator api /v1/status/leader
eventually 20 "no RPC port" bash -c "exec 3<> /dev/tcp/127.0.0.1/$SERVER_RPC"  # it opens after the API
sed "s/http = .*/http = $(free_port)/; s/server-data/other-data/" "$WORK/server.hcl" > "$WORK/other.hcl"
expect 1 "ports.rpc" "$DROVER" agent -config "$WORK/other.hcl"

run_agent client
eventually 20 "no ready node" says ' ready$' "$DROVER" node status

expect 0 "" "$DROVER" job run -detach "$WORK/talk.nomad"
eventually 20 "no allocation" first_alloc
eventually 20 "no log" lines 1
expect 0 "talk" "$DROVER" job status
expect 0 "talk" on_client job status
expect 0 "started as" on_client alloc logs "$ALLOC" t
expect 1 "" "$DROVER" alloc logs 00000000-0000-0000-0000-000000000000 t

# A node and a server both say with a 404 which index and leader the state had: a client can wait for the thing.
head_of() { # PORT PATH
  exec 3<> "/dev/tcp/127.0.0.1/$1"
  printf 'GET %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n' "$2" >&3
  tr -d '\r' <&3
  exec 3>&-
}
for port in "$SERVER_HTTP" "$CLIENT_HTTP"; do
  head_of "$port" /v1/job/nothing > "$WORK/head"
  grep -q '^HTTP/1.1 404' "$WORK/head" && grep -q '^X-Nomad-Index: [1-9]' "$WORK/head" &&
    grep -q '^X-Nomad-KnownLeader: true' "$WORK/head" && grep -q '^X-Nomad-LastContact: [0-9]' "$WORK/head" ||
    fail "a job that is not there: $(cat "$WORK/head")"
done

# The plugins of a node, asked for at a server that is none.
NODE=$("$DROVER" node status | awk '/ ready$/ { print $1 }')
expect 0 "The node has no plugins of its own" "$DROVER" plugin status -node "$NODE"
expect 0 "No local Node" "$DROVER" plugin status
expect 1 'this node has no plugin "nothing"' "$DROVER" plugin restart -node "$NODE" nothing

expect 0 "" "$DROVER" alloc restart "$ALLOC"
eventually 20 "the restart did not arrive" lines 2
expect 0 "" "$DROVER" alloc signal -s SIGKILL "$ALLOC" t
eventually 40 "the signal did not arrive" lines 3

# The server dies and comes back: the node attaches again, and the task never noticed.
kill -9 "$SERVER"
eventually 5 "the server still runs" gone "$SERVER"
run_agent server
SERVER=$AGENT
eventually 30 "no logs after the server's return" lines 3
expect 0 "" "$DROVER" alloc restart "$ALLOC"
eventually 20 "the restart did not arrive after the server's return" lines 4
expect 0 "" "$DROVER" job stop -detach talk

kill -TERM "$AGENT"
eventually 15 "the server does not stop" gone "$AGENT"
grep -q 'stopped' "$WORK/server.log" || fail "no orderly stop"
passed
