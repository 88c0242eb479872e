#!/usr/bin/env bash
# One server's disk is slow, fails, or is full, under load. The others go on; a slow leader hands over; a server that cannot
# sync says so, ends with 74, comes back and catches up. The simulator's checker judges what the clients saw.
# TROUBLED_DISK is the library that makes the trouble.
JOIN="one two three"
. "$(dirname "$0")/../servers.sh"
. "$(dirname "$0")/load.sh"
: "${TROUBLED_DISK:?names the library that makes trouble}"

configure_servers
run_server() {
  # A sanitizer's runtime wants to be the first library; it need not be.
  ASAN_OPTIONS=verify_asan_link_order=0${ASAN_OPTIONS:+:$ASAN_OPTIONS} LD_PRELOAD=$TROUBLED_DISK DROVER_TROUBLE=$WORK/trouble-$1 "$DROVER" agent -config "$WORK/$1.hcl" >> "$WORK/$1.log" 2>&1 &
  PID[$1]=$!
  AGENTS+=("$!")
}
trouble() { echo "$2" > "$WORK/trouble-$1"; }
others_of() { local server; for server in "${SERVERS[@]}"; do [ "$server" = "$1" ] || echo "$server"; done; }
# ended_with SERVER CODE TEXT: it ended by itself, with this code, and said so.
ended_with() {
  local code
  eventually 30 "$1 does not end" gone "${PID[$1]}"
  wait "${PID[$1]}"
  code=$?
  CHECKS=$((CHECKS + 1))
  [ $code -eq "$2" ] || fail "$1 ended with $code, expected $2"
  expect 0 "$3" tail -n 3 "$WORK/$1.log"
}

# The third one's disk is small, so that it can be full.
FULL=
if [ "$(id -u)" = 0 ]; then
  mkdir "$WORK/three-data"
  mount -t tmpfs -o size=150m drover-test "$WORK/three-data" 2> /dev/null && FULL=1
fi
trap '[ -z "$FULL" ] || umount -l "$WORK/three-data"; clean_up' EXIT
for server in "${SERVERS[@]}"; do run_server "$server"; done
eventually 30 "no leader" find_leader

# --- slow ------------------------------------------------------------------------------------------------------------
begin_history slow
mapfile -t followers < <(others_of "$LEADER")
since_here
trouble "${followers[0]}" "slow 1500"
eventually 30 "no writes beside a follower with a slow disk" writes_again
trouble "${followers[0]}" ""
eventually 30 "${followers[0]} does not come back" serves "${followers[0]}"
eventually 30 "no leader" find_leader
former=$LEADER
since_here
trouble "$former" "slow 5000"
eventually 60 "$former goes on leading with a disk that hangs" find_leader "$former"
eventually 30 "no writes beside $former" writes_again
trouble "$former" ""
eventually 60 "$former does not come back" serves "$former"
judge_history

# --- failing ---------------------------------------------------------------------------------------------------------
begin_history failing
for role in leader follower; do
  eventually 30 "no leader" find_leader
  victim=$LEADER
  [ $role = leader ] || victim=$(others_of "$LEADER" | head -n 1)
  since_here
  trouble "$victim" "fail 5"
  ended_with "$victim" 74 "the log can no longer be written, this process ends to protect what was acknowledged"
  expect 0 "Input/output error" tail -n 3 "$WORK/$victim.log"
  eventually 30 "no writes without the $role $victim" writes_again
  trouble "$victim" ""
  run_server "$victim"
  eventually 30 "$victim does not come back" serves "$victim"
done
judge_history
eventually 30 "the servers differ" all_equal

# --- full ------------------------------------------------------------------------------------------------------------
if [ -z "$FULL" ]; then
  echo "left out: a full disk needs root, and a tmpfs that may be mounted"
else
  cat > "$WORK/large.nomad" << JOB
job "large" {
  group "g" {
    count = 0
    task "t" {
      driver = "raw_exec"
      config {
        command = "/bin/true"
      }
    }
  }
  meta {
    text = "$(head -c 900000 /dev/zero | tr '\0' x)"
  }
}
JOB
  elsewhere=one
  writes=0
  while ! gone "${PID[three]}"; do
    [ $((writes += 1)) -lt 400 ] || fail "three does not fill its disk"
    sed "s/text = \"x/text = \"$writes/" "$WORK/large.nomad" > "$WORK/next.nomad"
    eventually 30 "no write while a disk fills" on "$elsewhere" job run -detach "$WORK/next.nomad"
  done
  ended_with three 74 "the log can no longer be written, this process ends to protect what was acknowledged"
  expect 0 "No space left on device" tail -n 3 "$WORK/three.log"
  expect 0 "" on "$elsewhere" job run -detach "$WORK/large.nomad"
  mount -o remount,size=2g "$WORK/three-data" || fail "the disk does not grow"
  run_server three
  eventually 60 "three does not come back" serves three
  eventually 60 "the servers differ" all_equal
fi
still_run
echo "$WRITES writes acknowledged"
passed
