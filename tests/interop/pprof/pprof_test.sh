#!/usr/bin/env bash
# The agent's profile of its processor time, before Go's pprof, which knows nothing of drover.
. "$(dirname "$0")/../../integration/lib.sh"
: "${PROGRAMS:?names a folder for what Go builds}"

skip() { echo "skipped: $*"; exit 77; }
command -v go > /dev/null || skip "Go is missing (golang-go)"
mkdir -p "$PROGRAMS"
export GOFLAGS=-p=1 GOCACHE=$PROGRAMS/cache PPROF_TMPDIR=$WORK
go tool pprof -h > /dev/null 2> "$WORK/go.log"
grep -qi usage "$WORK/go.log" || skip "Go has no pprof: $(tail -n 1 "$WORK/go.log")"

config one <<< 'enable_debug = true'
start one
cd "$WORK" || exit 1
# Work to be seen: the list of nodes, over and over.
{ while curl -sS -o nodes "$NOMAD_ADDR/v1/nodes"; do :; done; } 2> /dev/null &
LOAD=$!
AGENTS+=("$LOAD")
has_samples() {
  curl -sS -m 60 -o cpu.prof "$NOMAD_ADDR/v1/agent/pprof/profile?seconds=2" && go tool pprof -top -cum cpu.prof > top 2>&1
  cat top
  [ "$(grep -c '%' top)" -gt 10 ]
}
eventually 60 "pprof does not read the profile" has_samples
for text in 'Type: cpu' 'Duration: 2' 'Total samples = [0-9.]*m*s' 'drover::'; do
  grep -q "$text" top || fail "pprof does not show \"$text\": $(head -n 20 top)"
  CHECKS=$((CHECKS + 1))
done
go tool pprof -raw cpu.prof > raw 2>&1 || fail "pprof does not show its parts: $(tail -n 3 raw)"
grep -q '/plugins/http.so' raw || fail "the http plugin's code is not among the mappings: $(sed -n '/^Mappings/,$p' raw)"
passed
