#!/usr/bin/env bash
# What people's habits and other tools count on: the program under its other name, flags with one dash, configuration
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
expect 0 "nomad_" "$DROVER" operator metrics -format=prometheus
kill -TERM "$AGENT"
eventually 15 "the agent did not stop" gone "$AGENT"
passed
