#!/usr/bin/env bash
# One agent asked for another: the log and the profiles of a server or a node, and the files of an allocation, through any
# agent of the cluster.
JOIN="one two"
. "$(dirname "$0")/servers.sh"

take_serf one two
server_config one 2 < /dev/null
server_config two 2 <<< 'enable_debug = true'
HTTP[node]=$(free_port)
client_config node "${HTTP[node]}" "${RPC[one]}" << CONFIG
enable_debug = true
$RAW_EXEC
CONFIG
for server in one two; do run_server "$server"; done
for server in one two; do eventually 30 "$server knows no leader" leads "$server"; done
run_server node
ready() { on one node status | grep -q ' ready$'; }
eventually 30 "the node is not ready" ready
NODE=$(on one node status -verbose | awk '/ ready$/ { print $1 }')
cd "$WORK" || exit 1

# get STATUS TEXT AGENT PATH: an answer of that agent, and a text in it.
get() {
  CHECKS=$((CHECKS + 1))
  local code
  code=$(curl -sS -m 20 -o body -w '%{http_code}' "http://127.0.0.1:${HTTP[$3]}$4") || fail "no answer: $3 $4"
  [ "$code" = "$1" ] || fail "status $code, not $1, of $3 $4: $(tr '\0' ' ' < body)"
  tr '\0' ' ' < body | grep -qF -- "$2" || fail "it does not say \"$2\": $3 $4: $(tr '\0' ' ' < body)"
}
# in_background FILE AGENT COMMAND…: its output is in FILE. Its number is in $!, which a function of its own would take.
in_background() {
  NOMAD_ADDR=http://127.0.0.1:${HTTP[$2]} "$DROVER" "${@:3}" > "$1" 2>&1 &
  AGENTS+=("$!")
}
# shows_log ASKED ANSWERS OPTION…: the log that ASKED shows is that of ANSWERS: it says what that one is asked.
MARK=0
arrives() {
  curl -sS -o /dev/null "http://127.0.0.1:${HTTP[$1]}/v1/mark-$MARK"
  tail -n 3 log
  grep -q "path=/v1/mark-$MARK" log
}
shows_log() {
  local asked=$1 answers=$2
  shift 2
  MARK=$((MARK + 1)) CHECKS=$((CHECKS + 1))
  in_background log "$asked" monitor -log-level=DEBUG "$@"
  local reader=$!
  eventually 20 "$asked does not show the log of $answers ($*)" arrives "$answers"
  kill -INT "$reader"
  wait "$reader" || fail "the monitor ends with an error: $(cat log)"
}
shows_log one one
shows_log one two -server-id=two
shows_log two one -server-id=one.global
shows_log one "$LEADER" -server-id=leader
shows_log node two -server-id two
shows_log one node "-node-id=$NODE"
shows_log two node "-node-id=$NODE"
shows_log one node "-node-id=${NODE:0:8}"
shows_log node node "-node-id=$NODE"
expect 1 "unknown server three" on one monitor -server-id=three
expect 1 "unknown server three" on node monitor -server-id=three
expect 1 "exclude each other" on one monitor -server-id=one "-node-id=$NODE"
get 400 "one of them is asked at a time" one "/v1/agent/monitor?plain=true&server_id=two&node_id=$NODE"
get 404 "No path to node" one "/v1/agent/monitor?node_id=00000000-0000-0000-0000-000000000001"

# --- profiles, where the agent that answers allows them
get 403 "Permission denied" one /v1/agent/pprof/cmdline
get 403 "Permission denied" two "/v1/agent/pprof/cmdline?server_id=one"
get 200 "two.hcl" two /v1/agent/pprof/cmdline
get 200 "two.hcl" one "/v1/agent/pprof/cmdline?server_id=two"
get 200 "node.hcl" one "/v1/agent/pprof/cmdline?node_id=$NODE"
get 200 " raft " two "/v1/agent/pprof/goroutine?debug=2"
get 200 "<malloc version=" two "/v1/agent/pprof/heap?debug=1"
get 501 "ask for the text" two /v1/agent/pprof/heap
get 200 "" one "/v1/agent/pprof/profile?seconds=1&server_id=two"
zcat body | grep -aq nanoseconds || fail "the profile of the processor is none"
get 400 "seconds must be at most 300, not 301" two "/v1/agent/pprof/profile?seconds=301"
get 403 "Permission denied" one /v1/agent/pprof/profile
get 501 "perf trace" two /v1/agent/pprof/trace
get 404 "Unknown profile: brain" two /v1/agent/pprof/brain

# --- files and logs
NOMAD_ADDR=http://127.0.0.1:${HTTP[one]}
export NOMAD_ADDR
once_job talk 'echo said; echo kept > local/kept; exec sleep 1000' ''
for agent in one two node; do
  kept() { [ "$(on "$agent" alloc fs "$ALLOC" t/local/kept)" = kept ]; }
  eventually 20 "$agent does not show the file" kept
  expect 0 "said" on "$agent" alloc logs "$ALLOC"
  expect 1 "Reading secret file prohibited" on "$agent" alloc fs "$ALLOC" t/secrets
  in_background followed "$agent" alloc fs -f "$ALLOC" t/local/kept
  FOLLOWER=$!
  more() { echo more >> "$WORK"/node-data/alloc/"$ALLOC"*/t/local/kept; grep -q more followed; }
  eventually 20 "$agent does not follow the file" more
  kill -INT "$FOLLOWER"
  echo kept > "$(echo "$WORK"/node-data/alloc/"$ALLOC"*/t/local/kept)"
done
passed
