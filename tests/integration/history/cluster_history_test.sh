#!/usr/bin/env bash
# Three servers under load from clients that write down what they saw, while servers are killed with -9 and stopped in
# their tracks. Nothing that was acknowledged may be lost, and every read must fit: the history goes through the checker
# of the simulator. DROVER_KILLS says how often (4); each third time it is a stop of all threads instead.
JOIN="one two three"
. "$(dirname "$0")/../servers.sh"
. "$(dirname "$0")/load.sh"

KILLS=${DROVER_KILLS:-4}
configure_servers
for server in "${SERVERS[@]}"; do run_server "$server"; done
eventually 30 "no leader" find_leader
for ((kill = 1; kill <= KILLS; kill++)); do
  [ $((kill % 4)) -ne 1 ] || begin_history "k$kill"
  eventually 30 "no leader" find_leader
  victim=$LEADER
  # Mostly the leader; now and then another.
  [ $((kill % 5)) -ne 0 ] || victim=${SERVERS[$((RANDOM % 3))]}
  since_here
  if [ $((kill % 3)) -eq 0 ]; then
    # When it goes on it does not know yet that another leads; its callers wait until then.
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
still_run
echo "$KILLS times a server killed or stopped, $WRITES writes acknowledged"
passed
