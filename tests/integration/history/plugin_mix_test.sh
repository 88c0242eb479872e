#!/usr/bin/env bash
# A rolling upgrade to a set of plugins with one more, under load: servers with and without it form one cluster. The leader
# refuses a command that a server does not know, with that server's address. One that was away and comes back without the
# plugin ends at the first such command, with 3 and by name, rather than let its state become another one; the others go
# on, and with the plugin it catches up. NOTES is the plugin.
JOIN="one two three"
. "$(dirname "$0")/../servers.sh"
. "$(dirname "$0")/load.sh"
: "${NOTES:?names the plugin}"

configure_servers
run_server() {
  "$DROVER" agent -config "$WORK/$1.hcl" >> "$WORK/$1.log" 2>&1 &
  PID[$1]=$!
  AGENTS+=("$!")
}
# replace SERVER OTHER: stopped, started as its configuration says now, and healthy again in OTHER's eyes.
replace() {
  kill -TERM "${PID[$1]}"
  eventually 20 "$1 does not stop" gone "${PID[$1]}"
  eventually 30 "autopilot does not see that $1 is away" unhealthy "$2"
  run_server "$1"
  eventually 60 "not healthy after $1 was replaced" healthy "$2"
}
upgrade() { echo "plugin_dir = \"$(dirname "$NOTES")\"" >> "$WORK/$1.hcl"; }
note() { on "$1" operator api -X PUT /v1/notes '{"Name": "n", "Text": "t"}'; }
id_of() { on "$1" operator raft list-peers | awk -v name="$2" '{ sub(/\..*/, "", $1) } $1 == name { print $2 }'; }
leads_now() { find_leader && [ "$LEADER" = "$1" ]; }
hand_to() { leads_now "$1" || on "$1" operator raft transfer-leadership "-peer-id=$(id_of "$1" "$1")"; leads_now "$1"; }

for server in "${SERVERS[@]}"; do run_server "$server"; done
eventually 30 "no leader" find_leader
eventually 30 "not healthy at first" healthy one
expect 1 "404" note one

# --- two of three have it: the same cluster ---------------------------------------------------------------------------
begin_history upgrade
for pair in "one two" "two three"; do
  read -r server other <<< "$pair"
  upgrade "$server"
  replace "$server" "$other"
  since_here
  eventually 30 "no writes after $server was upgraded" writes_again
done
judge_history

# --- a leader without the plugin does not know the method: nothing is written ------------------------------------------
eventually 20 "three does not lead" hand_to three
expect 1 "unknown method /drover.notes.Notes/Put" note one
for server in "${SERVERS[@]}"; do kill -0 "${PID[$server]}" || fail "$server has ended"; done

# --- a leader with it refuses what three does not know, for as long as three may come back so -----------------------------
eventually 20 "one does not lead" hand_to one
refused="server 127.0.0.1:${RPC[three]} does not know the command drover.notes.NoteWritten"
expect 1 "$refused" note one
kill -TERM "${PID[three]}"
eventually 20 "three does not stop" gone "${PID[three]}"
eventually 20 "no leader without three" find_leader
expect 1 "$refused" note "$LEADER"
for server in one two; do kill -0 "${PID[$server]}" || fail "$server has ended"; done

# --- one that nobody has met since ends with the first such command; the others go on --------------------------------------
begin_history command
for server in one two; do
  kill -9 "${PID[$server]}"
  eventually 20 "$server stays" gone "${PID[$server]}"
  run_server "$server"
  eventually 30 "$server does not come back" serves "$server"
done
eventually 20 "no note is taken" note one
run_server three
eventually 20 "three goes on without the command" gone "${PID[three]}"
wait "${PID[three]}"
code=$?
[ $code -eq 3 ] || fail "three ended with $code, expected 3"
expect 0 "a committed command is not known to any loaded plugin; enable or install the plugin that declares it" tail -n 3 "$WORK/three.log"
expect 0 "drover.notes.NoteWritten" tail -n 3 "$WORK/three.log"
since_here
eventually 30 "no writes without three" writes_again
# Started again as it is it comes to the same entry.
run_server three
eventually 20 "three goes on without the command" gone "${PID[three]}"
upgrade three
run_server three
eventually 60 "not healthy after three was upgraded" healthy one
since_here
eventually 30 "no writes after three was upgraded" writes_again
judge_history
eventually 20 "three does not lead" hand_to three
eventually 10 "no note is taken by three" note three
eventually 30 "the servers differ" all_equal
still_run
echo "$WRITES writes acknowledged"
passed
