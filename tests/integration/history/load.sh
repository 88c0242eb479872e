# Shared by the scripts that put three servers under load and judge what the clients saw. Sourced after servers.sh.
# Clients write down a history in pieces: the longer and wider one is, the more orders are possible, and the
# checker of the simulator gives up.
SERVERS=(one two three)
WRITES=0
HISTORY=

configure_servers() {
  local server
  take_serf "${SERVERS[@]}"
  # Autopilot would take an absent server for dead, and two voters are not enough for the rest.
  for server in "${SERVERS[@]}"; do
    server_config "$server" 3 << CONFIG
log_level = "WARN"
autopilot {
  cleanup_dead_servers = false
}
CONFIG
  done
}
healthy() { on "$1" operator autopilot health > /dev/null; }
unhealthy() { ! healthy "$1"; }

# The server that says of itself that it leads.
find_leader() { # [EXCEPT]
  local server
  for server in "${SERVERS[@]}"; do
    [ "$server" != "${1:-}" ] && [ "$(on "$server" operator api /v1/agent/self 2> /dev/null | grep -o '"leader": *"[a-z]*"')" = '"leader": "true"' ] && LEADER=$server && return 0
  done
  return 1
}
serves() { on "$1" operator api /v1/status/leader | grep -q :; }
# since_here: writes_again counts from this line of the history on, until NEEDED (20) are acknowledged.
since_here() { FROM=$(wc -l < "$HISTORY"); }
writes_again() { [ "$(tail -n +$((FROM + 1)) "$HISTORY" | grep -c ' ok [1-9]')" -ge "${NEEDED:-20}" ]; }
# The program before the client's, where another network is needed.
CLIENT_IN=()
# The addresses of the servers' HTTP API.
api_addresses() { local server; for server in "${SERVERS[@]}"; do echo "http://127.0.0.1:${HTTP[$server]}"; done; }
# begin_history NAME: three clients on jobs of that name.
begin_history() {
  HISTORY=$WORK/history-$1
  mapfile -t addresses < <(api_addresses)
  "${CLIENT_IN[@]}" "$HISTORY_CLIENT" "$HISTORY" "$1-" 3 "${addresses[@]}" &
  CLIENT=$!
  AGENTS+=("$CLIENT")
  FROM=0
  eventually 30 "no write" writes_again
}
judge_history() {
  kill -TERM "$CLIENT"
  eventually 60 "the clients do not end" gone "$CLIENT"
  expect 0 "linearizable: yes" "$SIMULATE" --history "$HISTORY"
  WRITES=$((WRITES + $(grep -c ' ok [1-9]' "$HISTORY")))
}
# Every server has the same state: what each says of the jobs by itself.
state_of() { on "$1" operator api '/v1/jobs?stale&prefix=' | grep -v -e Submit -e Priority; }
all_equal() {
  local server first=
  for server in "${SERVERS[@]}"; do
    state_of "$server" > "$WORK/state-$server" || return 1
    [ -n "$first" ] || first=$WORK/state-$server
    cmp "$first" "$WORK/state-$server" || return 1
  done
  [ "$(grep -c '"ID"' "$first")" -gt 0 ] || { echo "no job"; return 1; }
}
still_run() { local server; for server in "${SERVERS[@]}"; do kill -0 "${PID[$server]}" || fail "$server has ended by itself"; done; }
