#!/usr/bin/env bash
# Three servers under load from clients that write down what they saw, while servers are killed with -9 and stopped in
# their tracks. Nothing that was acknowledged may be lost, and every read must fit: the history goes through the checker
# of the simulator. DROVER_KILLS says how often (4); each third time it is a stop of all threads instead.
JOIN="one two three"
. "$(dirname "$0")/../servers.sh"

KILLS=${DROVER_KILLS:-4}
SERVERS=(one two three)
take_serf "${SERVERS[@]}"
# Autopilot would take the killed for dead, and two voters are not enough for what follows.
for server in "${SERVERS[@]}"; do
  server_config "$server" 3 << CONFIG
log_level = "WARN"
autopilot {
  cleanup_dead_servers = false
}
CONFIG
done
# The server that says of itself that it leads.
find_leader() { # [EXCEPT]
  local server
  for server in "${SERVERS[@]}"; do
    [ "$server" != "${1:-}" ] && [ "$(on "$server" operator api /v1/agent/self 2> /dev/null | grep -o '"leader": *"[a-z]*"')" = '"leader": "true"' ] && LEADER=$server && return 0
  done
  return 1
}
writes_again() { [ "$(tail -n +$((FROM + 1)) "$HISTORY" | grep -c ' ok [1-9]')" -ge 20 ]; }
serves() { on "$1" operator api /v1/status/leader | grep -q :; }

for server in "${SERVERS[@]}"; do run_server "$server"; done
eventually 30 "no leader" find_leader
# A history of four at most, of three clients: the longer and wider it is, the more orders are possible.
begin_history() {
  HISTORY=$WORK/history-$kill
  "$HISTORY_CLIENT" "$HISTORY" "k$kill-" 3 "http://127.0.0.1:${HTTP[one]}" "http://127.0.0.1:${HTTP[two]}" "http://127.0.0.1:${HTTP[three]}" &
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

WRITES=0
for ((kill = 1; kill <= KILLS; kill++)); do
  [ $((kill % 4)) -ne 1 ] || begin_history
  eventually 30 "no leader" find_leader
  victim=$LEADER
  # Mostly the leader; now and then another.
  [ $((kill % 5)) -ne 0 ] || victim=${SERVERS[$((RANDOM % 3))]}
  FROM=$(wc -l < "$HISTORY")
  if [ $((kill % 3)) -eq 0 ]; then
    # When it goes on it does not know yet that another leads; whoever called it waits until then.
    kill -STOP "${PID[$victim]}"
    eventually 60 "nobody leads while $victim stands still" find_leader "$victim"
    kill -CONT "${PID[$victim]}"
    eventually 60 "no writes after $victim stood still" writes_again
  else
    kill -9 "${PID[$victim]}"
    eventually 60 "no writes without $victim" writes_again
    eventually 20 "$victim stays" gone "${PID[$victim]}"
    run_server "$victim"
  fi
  eventually 30 "$victim does not come back" serves "$victim"
  [ $((kill % 4)) -ne 0 ] && [ "$kill" -ne "$KILLS" ] || judge_history
done
for server in "${SERVERS[@]}"; do kill -0 "${PID[$server]}" || fail "$server has ended by itself"; done
echo "$KILLS times a server killed or stopped, $WRITES writes acknowledged"
passed
