#!/usr/bin/env bash
# A leader stands still while another is elected and takes writes; calls wait at its door. When it goes on it answers
# none of them with what it knew. DROVER_PAUSES says how often (2).
JOIN="one two three"
. "$(dirname "$0")/../servers.sh"
. "$(dirname "$0")/load.sh"
command -v ss > /dev/null || { echo "skipped: the program ss is missing (Debian's iproute2)"; exit 77; }

PAUSES=${DROVER_PAUSES:-2}
configure_servers
for server in "${SERVERS[@]}"; do run_server "$server"; done
eventually 30 "no leader" find_leader

job() { # VALUE: a job without allocations that carries it
  cat << JOB
{"Job": {"ID": "j", "Name": "j", "Type": "service", "Datacenters": ["dc1"], "Meta": {"value": "$1"}, "TaskGroups":
  [{"Name": "g", "Count": 0, "Tasks": [{"Name": "t", "Driver": "raw_exec", "Config": {"command": "/bin/true"}}]}]}}
JOB
}
write() { on "$1" operator api -X PUT /v1/jobs "$(job "$2")"; } # SERVER VALUE
waiting() { [ "$(ss -Htn state established "dport = :${HTTP[$1]}" | wc -l)" -ge 16 ]; }

eventually 30 "no write" write "$LEADER" "0"
for ((pause = 1; pause <= PAUSES; pause++)); do
  eventually 30 "no leader" find_leader
  former=$LEADER
  kill -STOP "${PID[$former]}"
  eventually 60 "nobody leads while $former stands still" find_leader "$former"
  eventually 30 "no write without $former" write "$LEADER" "$pause"
  readers=()
  for ((reader = 0; reader < 16; reader++)); do
    on "$former" operator api /v1/job/j > "$WORK/read-$reader" 2>&1 &
    readers+=("$!")
  done
  eventually 20 "the readers do not knock" waiting "$former"
  kill -CONT "${PID[$former]}"
  wait "${readers[@]}"
  for ((reader = 0; reader < 16; reader++)); do
    ! grep -q '"value"' "$WORK/read-$reader" || expect 0 "\"value\": \"$pause\"" cat "$WORK/read-$reader"
  done
  eventually 30 "$former does not come back" serves "$former"
done
still_run
echo "$PAUSES times a leader stood still"
passed
