#!/usr/bin/env bash
# A server whose disk has lost data is made whole by the others; a cluster that has lost its quorum goes on with one server.
JOIN=one
. "$(dirname "$0")/servers.sh"

KEY=$(head -c 32 /dev/urandom | base64)
take_serf one two three four five
configure() { # SERVER BOOTSTRAP_EXPECT
  server_config "$1" "$2" "encrypt = \"$KEY\"
  raft_scrub_interval = \"1s\"" << CONFIG
autopilot {
  server_stabilization_time = "2s"
  cleanup_dead_servers      = false
}
CONFIG
}
end() {
  kill -9 "${PID[$1]}"
  eventually 5 "$1 still runs" gone "${PID[$1]}"
}
voters() { # SERVER COUNT
  on "$1" operator raft list-peers > "$WORK/peers" || return 1
  cat "$WORK/peers"
  [ "$(grep -c ' true  ' "$WORK/peers")" = "$2" ]
}
says() { grep -q -- "$2" "$WORK/$1.log"; }
has_job() { on "$1" operator api '/v1/jobs?stale' | grep -q "\"$2\""; }
job() {
  cat > "$WORK/$1.nomad" << JOB
job "$1" {
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
}
registers() { on "$1" job run -detach "$WORK/$2.nomad"; }

for server in one two three; do configure "$server" 3; done
for server in one two three; do run_server "$server"; done
for server in one two three; do eventually 30 "$server knows no leader" leads "$server"; done
eventually 10 "not three voters" voters one 3
for name in first second third; do job "$name"; done
eventually 10 "no write" registers one first

# --- a disk loses data -----------------------------------------------------------------------------------------------
for server in two three; do [ "$server" = "$LEADER" ] || VICTIM=$server; done
# Not the entry that says who the others are: without it nobody could be asked.
for _ in 1 2 3 4 5; do expect 0 "successful" on one job run -detach "$WORK/first.nomad"; done
eventually 10 "the writes do not arrive" has_job "$VICTIM" first
RAFT=$WORK/$VICTIM-data/server/raft
SEGMENT=$(ls "$RAFT"/seg-*.log | head -n 1)
PLACE=$(grep -abo 'first' "$SEGMENT" | tail -n 1 | cut -d: -f1)  # in the newest of these writes
printf 'rot' | dd of="$SEGMENT" bs=1 seek="$PLACE" conv=notrunc 2> /dev/null
eventually 20 "the rot is not found" says "$VICTIM" "the disk no longer holds what was confirmed.*: offset "
is_rotten() { on "$VICTIM" operator api /v1/agent/self | grep -q '"damaged": *"true"'; }
eventually 5 "the rot is not shown" is_rotten
end "$VICTIM"
expect 0 "successful" on one job run -detach "$WORK/second.nomad"
ROTTEN=$(sha256sum < "$SEGMENT")
run_server "$VICTIM"
eventually 10 "the damage is not said" says "$VICTIM" "the log is damaged: what stands before is kept.*: offset "
eventually 30 "the server is not made whole" says "$VICTIM" "the damaged log is whole again"
eventually 20 "the server does not catch up" has_job "$VICTIM" second
[ "$(sha256sum < "$RAFT/quarantine/1/${SEGMENT##*/}")" = "$ROTTEN" ] || fail "what was damaged is not kept"
[ "$(stat -c %a "$RAFT/quarantine")" = 700 ] || fail "the quarantine can be read by others"
[ ! -e "$RAFT/damaged" ] || fail "the log counts as damaged still"
expect 0 "nomad.raft.repairs" on "$VICTIM" operator api /v1/metrics

# --- the quorum is lost ----------------------------------------------------------------------------------------------
eventually 30 "not three voters after the repair" voters one 3
ID=$(awk '{ sub(/\..*/, "", $1) } $1 == "one" { print $2 }' "$WORK/peers")
TWO=$(awk '{ sub(/\..*/, "", $1) } $1 == "two" { print $2 }' "$WORK/peers")
end two
end three
expect 1 "held by another process" "$DROVER" operator raft recover "-data-dir=$WORK/one-data"
end one
expect 0 "$ID" "$DROVER" operator raft recover "-data-dir=$WORK/one-data"
expect 0 "$TWO" "$DROVER" operator raft recover "-data-dir=$WORK/one-data" "-data-dir=$WORK/two-data"
recover() { "$DROVER" operator raft recover "-data-dir=$WORK/one-data" "$@"; }
expect 1 "-data-dir is needed" "$DROVER" operator raft recover
expect 1 "No such file" "$DROVER" operator raft recover "-data-dir=$WORK/nowhere"
expect 1 "expected ID=HOST:PORT" recover -server=one -yes
expect 1 "expected HOST:PORT" recover "-server=$ID=one" -yes
expect 1 "names no voter" recover "-server=$ID=127.0.0.1:1,nonvoter" -yes
expect 1 "does not name this server" recover "-server=$TWO=127.0.0.1:1" -yes
expect 1 "does not know server" recover "-server=$ID=127.0.0.1:1" -server=44444444-4444-4444-8444-444444444444=127.0.0.1:2 -yes
expect 1 "Nothing was changed" recover "-server=$ID=127.0.0.1:${RPC[one]}"
[ ! -e "$WORK/one-data/server/raft/peers.json" ] || fail "a membership was written though nobody agreed"
expect 0 "Wrote " recover "-server=$ID=127.0.0.1:${RPC[one]}" -yes
run_server one
eventually 20 "one does not lead alone" leads one
eventually 10 "not one voter" voters one 1
[ -e "$WORK/one-data/server/raft/peers.json.applied" ] || fail "the file was not put away"
says one "the membership was replaced by peers.json" || fail "nothing was said"
for name in first second; do has_job one "$name" || fail "$name is lost"; done
expect 0 "successful" on one job run -detach "$WORK/third.nomad"

# --- one of the old quorum comes back, and is turned away -------------------------------------------------------------
run_server two
eventually 20 "two is not refused" says two "this server is part of cluster .*, not of\|a server of another cluster"
eventually 10 "the wrong voters" voters one 1
! has_job two third || fail "the left-behind server has what was written later"
end two

# --- new servers join -------------------------------------------------------------------------------------------------
for server in four five; do
  configure "$server" 0
  run_server "$server"
done
eventually 60 "the new servers do not become voters" voters one 3
for server in four five; do eventually 20 "$server does not have the data" has_job "$server" first; done
end one
run_server one
eventually 30 "no leader after a restart" leads one
eventually 10 "a write after the recovery is lost" has_job one third
passed
