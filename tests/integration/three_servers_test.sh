#!/usr/bin/env bash
# Three servers find each other, form a cluster, lose their leader, take in a fourth and let one go.
JOIN="one two"
. "$(dirname "$0")/servers.sh"

SERVERS=(one two three)
KEY=$(head -c 32 /dev/urandom | base64)
take_serf "${SERVERS[@]}" four stranger wrong
configure() { # SERVER BOOTSTRAP_EXPECT
  server_config "$1" "$2" "encrypt = \"$KEY\"" << CONFIG
autopilot {
  server_stabilization_time = "2s"
}
leave_on_terminate = true
CONFIG
}
api() { on "$1" operator api "$2"; }
counts() { # SERVER VOTERS MEMBERS
  local peers
  peers=$(on "$1" operator raft list-peers) || { echo "$peers"; return 1; }
  echo "$peers"
  [ "$(grep -c ' true  ' <<< "$peers")" = "$2" ] && [ "$(tail -n +2 <<< "$peers" | wc -l)" = "$3" ]
}
id_of() { on "$1" operator raft list-peers | awk -v name="$2" '{ sub(/\..*/, "", $1) } $1 == name { print $2 }'; }
healthy() { on "$1" operator autopilot health > /dev/null; }
status_of() { on "$1" server members | awk -v name="$2.global" '$1 == name { print $4 }' | grep -qx "$3"; }
now_ms() { local t=${EPOCHREALTIME/./}; echo $((t / 1000)); }

cat > "$WORK/first.nomad" << 'JOB'
job "first" {
  type = "batch"
  group "g" {
    task "t" {
      driver = "raw_exec"
      config {
        command = "/bin/true"
      }
    }
  }
}
JOB
sed 's/"first"/"second"/' "$WORK/first.nomad" > "$WORK/second.nomad"

# --- what is wrong is said by its option -----------------------------------------------------------------------------
wrong() { # TEXT SED: the configuration changed so does not start
  configure wrong 3
  sed -i "$2" "$WORK/wrong.hcl"
  expect 1 "$1" "$DROVER" agent -config "$WORK/wrong.hcl"
}
wrong "server.encrypt: the key is not 16, 24 or 32 bytes" 's|encrypt .*|encrypt = "short"|'
wrong "names no host" 's|retry_join .*|retry_join = [":1"]|'
wrong "exclude each other" 's|retry_join .*|&\n    start_join = ["127.0.0.1:1"]|'
wrong "server_join.start_join: 127.0.0.1:1: Connection refused" 's|retry_join .*|start_join = ["127.0.0.1:1"]|'
wrong "did you mean \"min_quorum\"" 's|server_stabilization_time.*|min_qorum = 1|'
wrong "no server could be joined; the agent ends" 's|leave_on_terminate.*||; s|retry_join .*|&\n    retry_max = 2|'

# --- they begin one cluster -----------------------------------------------------------------------------------------
for server in "${SERVERS[@]}"; do configure "$server" 3; done
for server in "${SERVERS[@]}"; do run_server "$server"; done
for server in "${SERVERS[@]}"; do eventually 30 "$server knows no leader" leads "$server"; done
eventually 10 "not three voters" counts one 3 3
CLUSTER_LEADER=$LEADER
for server in "${SERVERS[@]}"; do
  expect 0 "three.global" on "$server" server members
  [ "$(leader "$server")" = "$CLUSTER_LEADER" ] || fail "$server sees another leader"
  [ "$server" = "$CLUSTER_LEADER" ] || FOLLOWER=$server
done
eventually 15 "not healthy" healthy one
expect 0 "successful" on "$FOLLOWER" job run -detach "$WORK/first.nomad"
for server in "${SERVERS[@]}"; do expect 0 "first" on "$server" job status; done

# --- a wrong key is kept out -----------------------------------------------------------------------------------------
configure stranger 0
sed -i "s|encrypt .*|encrypt = \"$(head -c 16 /dev/urandom | base64)\"|" "$WORK/stranger.hcl"
run_server stranger
cannot_read() { grep -q 'another encrypt key' "$WORK/stranger.log" "$WORK/one.log"; }
eventually 10 "the wrong key goes unnoticed" cannot_read
! on one server members | grep -q stranger || fail "a server with another key is a member"
kill -9 "${PID[stranger]}"

# --- the leader dies -------------------------------------------------------------------------------------------------
DEAD=$CLUSTER_LEADER
kill -9 "${PID[$DEAD]}"
DIED=$(now_ms)
writes() { on "$FOLLOWER" job run -detach "$WORK/second.nomad"; }
eventually 15 "no write after the leader's death" writes
echo "write gap after the leader's death: $(($(now_ms) - DIED)) ms"
eventually 10 "nobody else leads" leads "$FOLLOWER" "$DEAD"
expect 0 "second" on "$FOLLOWER" job status
expect 0 "first" on "$FOLLOWER" job status
eventually 20 "the dead server is not noticed" status_of "$FOLLOWER" "$DEAD" failed

# --- and comes back --------------------------------------------------------------------------------------------------
run_server "$DEAD"
eventually 20 "the returned server is not seen" status_of "$FOLLOWER" "$DEAD" alive
caught_up() { on "$DEAD" operator api '/v1/jobs?stale' | grep -q '"second"'; }
eventually 20 "the returned server does not catch up" caught_up
eventually 30 "not three voters again" counts "$FOLLOWER" 3 3

# --- a fourth is taken in, one is removed, leadership is handed on ---------------------------------------------------
configure four 0
sed -i '/server_join/,/^  }/d' "$WORK/four.hcl"
run_server four
joined() { on four server join "127.0.0.1:${SERF[one]}"; }
eventually 10 "the fourth server does not join" joined
expect 1 "Connection refused" on four server join 127.0.0.1:1
eventually 20 "the fourth server does not appear" counts "$FOLLOWER" 4 4
expect 0 "first" on four job status
FOURTH=$(id_of "$FOLLOWER" four)
# It was told nobody's address in its configuration, and finds them again.
kill -9 "${PID[four]}"
eventually 5 "the fourth server still runs" gone "${PID[four]}"
run_server four
eventually 20 "the fourth server does not remember the others" status_of four "$FOLLOWER" alive
kill -9 "${PID[four]}"
expect 0 "Removed peer" on "$FOLLOWER" operator raft remove-peer "-peer-id=$FOURTH"
eventually 10 "the fourth server is still a peer" counts "$FOLLOWER" 3 3
eventually 20 "the fourth server's death is not noticed" status_of "$FOLLOWER" four failed
expect 0 "" on "$FOLLOWER" server force-leave four
eventually 10 "the fourth server has not left" status_of "$FOLLOWER" four left

# --- what the operator sees and sets ---------------------------------------------------------------------------------
expect 0 "Configuration updated!" on "$FOLLOWER" operator autopilot set-config -max-trailing-logs=300
expect 0 "300" on "$FOLLOWER" operator autopilot get-config
expect 1 "LastContactThreshold" on "$FOLLOWER" operator autopilot set-config -last-contact-threshold=soon
expect 1 "no such value" on "$FOLLOWER" operator autopilot set-config -min-quorum=many
expect 0 "false" on "$FOLLOWER" operator api -X PUT '/v1/operator/autopilot/configuration?cas=1' '{"MaxTrailingLogs": 1}'
expect 0 "Scheduler configuration updated!" on "$FOLLOWER" operator scheduler set-config -scheduler-algorithm=spread \
  -preempt-service-scheduler=true
expect 0 "Scheduler Algorithm           = spread" on "$FOLLOWER" operator scheduler get-config
expect 0 "Preemption Service Scheduler  = true" on "$FOLLOWER" operator scheduler get-config
expect 1 "could not be atomically updated" on "$FOLLOWER" operator scheduler set-config -check-index=1 -pause-eval-broker=true
expect 1 "invalid scheduler algorithm: random" on "$FOLLOWER" operator scheduler set-config -scheduler-algorithm=random
expect 1 "exactly one of" on "$FOLLOWER" operator raft remove-peer
expect 1 "was not found" on "$FOLLOWER" operator raft remove-peer -peer-address=127.0.0.1:1
expect 0 "" on "$FOLLOWER" server force-leave nobody
for server in "${SERVERS[@]}"; do expect 0 "127.0.0.1:${RPC[$server]}" api "$FOLLOWER" /v1/status/peers; done
expect 0 "nomad.raft.peers" api "$FOLLOWER" /v1/metrics

leads "$FOLLOWER" || fail "no leader"
BEFORE=$LEADER
for server in "${SERVERS[@]}"; do [ "$server" = "$BEFORE" ] || NEXT=$server; done
expect 0 "" on "$NEXT" operator raft transfer-leadership "-peer-id=$(id_of "$NEXT" "$NEXT")"
next_leads() { [ "$(leader "$NEXT")" = "$NEXT" ]; }
eventually 10 "leadership was not transferred" next_leads
eventually 15 "not healthy at the end" healthy "$NEXT"
expect 0 '"Healthy": true' on "$NEXT" operator autopilot health -json

# --- one leaves orderly ----------------------------------------------------------------------------------------------
kill -TERM "${PID[$BEFORE]}"
eventually 15 "the server does not stop" gone "${PID[$BEFORE]}"
eventually 10 "it has not left" status_of "$NEXT" "$BEFORE" left
eventually 10 "it is still a peer" counts "$NEXT" 2 2
passed
