#!/usr/bin/env bash
# The cluster of examples/clusters/loopback, in a network of its own: its ports are the usual ones.
unshare -n true 2> /dev/null || { echo "skipped: this process may not make a network namespace"; exit 77; }
[ -n "${OWN_NETWORK:-}" ] || OWN_NETWORK=1 exec unshare -n "$0"
ip link set lo up || exit 1
. "$(dirname "$0")/servers.sh"

EXAMPLES=$(realpath "$(dirname "$0")/../../examples")
RUN=$EXAMPLES/clusters/loopback/run
for server in one two three; do HTTP[$server]=4646; done
declare -A ADDRESS=([one]=127.0.0.1 [two]=127.0.0.2 [three]=127.0.0.3)
on() { local server=$1; shift; NOMAD_ADDR=http://${ADDRESS[$server]}:4646 "$DROVER" "$@"; }
run() { # LOG NAME…
  local log=$1
  shift
  "$RUN" "$WORK/cluster" "$@" > "$WORK/$log.log" 2>&1 &
  AGENTS+=("$!")
  disown "$!"
}
two_run() { [ "$(on "$1" job status web | grep -c ' running ')" = 2 ]; }
healthy() { on "$1" operator autopilot health > "$WORK/health" && grep -q "$2" "$WORK/health"; }
nobody_left() { ! pgrep -f "data-dir=$WORK/cluster"; }

expect 1 "all four, until Ctrl-C" "$RUN"
expect 1 "no agent is called four" "$RUN" "$WORK/cluster" one four

run all
eventually 30 "no leader" leads one
eventually 30 "the job is not placed" on one job run -detach "$EXAMPLES/jobs/web.hcl"
eventually 30 "the tasks do not run" two_run one

FORMER=$LEADER
other=one
[ "$FORMER" != one ] || other=two
kill -9 "$(sed -n "s/^$FORMER: process \([0-9]*\).*/\1/p" "$WORK/all.log")"
eventually 30 "nobody else leads" leads "$other" "$FORMER"
eventually 5 "nothing is said of the end" grep -q "^$FORMER: ended with 137; to have it back: .*/run $WORK/cluster $FORMER\$" "$WORK/all.log"
two_run "$other" || fail "the tasks did not go on"
run again "$FORMER"
eventually 60 "$FORMER is not back" healthy "$FORMER" "$FORMER"

kill "${AGENTS[@]}"
eventually 30 "agents are left" nobody_left
passed
