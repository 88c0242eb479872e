#!/usr/bin/env bash
# Every server is stopped orderly and started again, one after the other, as soon as autopilot finds the cluster healthy,
# under load. The simulator's checker judges what the clients saw. DROVER_ROUNDS says how often (1).
JOIN="one two three"
. "$(dirname "$0")/../servers.sh"
. "$(dirname "$0")/load.sh"

ROUNDS=${DROVER_ROUNDS:-1}
configure_servers
for server in "${SERVERS[@]}"; do run_server "$server"; done
eventually 30 "no leader" find_leader
eventually 30 "not healthy at first" healthy one

for ((round = 1; round <= ROUNDS; round++)); do
  for at in 0 1 2; do
    server=${SERVERS[at]} other=${SERVERS[(at + 1) % 3]}
    begin_history "r$round-$server"
    since_here
    kill -TERM "${PID[$server]}"
    eventually 20 "$server does not stop" gone "${PID[$server]}"
    eventually 30 "no writes without $server" writes_again
    eventually 30 "autopilot does not see that $server is away" unhealthy "$other"
    run_server "$server"
    eventually 60 "not healthy after $server came back" healthy "$other"
    since_here
    eventually 30 "no writes after $server came back" writes_again
    judge_history
  done
done
eventually 30 "the servers differ" all_equal
still_run
echo "$ROUNDS rounds, $WRITES writes acknowledged"
passed
