#!/usr/bin/env bash
# How long a list of jobs takes on a real agent, a page of 800 and all of them, beside the shortest call there is in the
# same run; and how many registrations a second it takes from eight connections that stay open. The jobs find no node, so
# each has an evaluation that waits: the figures are for calls, log and state, and no task.
#
#   DROVER=build/bin/drover tests/bench/lists/lists_bench.sh [jobs] [rounds]
. "$(dirname "$0")/../../integration/lib.sh"
command -v curl > /dev/null || { echo "lists_bench needs curl, which is missing" >&2; exit 1; }
JOBS=${1:-14000}
ROUNDS=${2:-20}

config one < /dev/null
start one
cd "$WORK" || exit 1
cat > job.hcl << 'JOB'
job "NAME" {
  constraint {
    attribute = "${node.class}"
    value     = "none-has-it"
  }
  group "g" {
    count = 2
    task "t" {
      driver = "mock_driver"
      config {
        run_for = "1h"
      }
    }
  }
}
JOB
"$DROVER" job run -output job.hcl | tr -d '\n' > job.json || fail "no job"

# Eight at a time, each over a connection of its own.
for part in 0 1 2 3 4 5 6 7; do
  awk -v from="$part" -v jobs="$JOBS" -v url="$NOMAD_ADDR/v1/jobs" '{
    gsub(/"/, "\\\"")
    for (i = from; i < jobs; i += 8) {
      body = $0
      gsub(/NAME/, sprintf("job-%06d", i), body)
      printf "%ssilent\nfail\noutput = /dev/null\nrequest = PUT\nurl = %s\ndata-binary = \"%s\"\n", i == from ? "" : "next\n", url, body
    }
  }' job.json > "part-$part"
done
began=$(date +%s%N)
waits=()
for part in 0 1 2 3 4 5 6 7; do curl -q --config "part-$part" & waits+=($!); done
for one in "${waits[@]}"; do wait "$one" || fail "a registration failed"; done
took=$((($(date +%s%N) - began) / 1000000))
echo "registrations                           $((JOBS * 1000 / took))/s"

# The median of the rounds in microseconds, over one connection. The rest of the line names what is asked.
median() {
  local i
  for ((i = 0; i < ROUNDS; i++)); do printf 'next\nsilent\noutput = /dev/null\nwrite-out = "%%{time_total}\\n"\nurl = %s\n' "$1"; done | sed 1d > calls
  curl -q --config calls | sort -n | awk '{t[NR] = $1} END {printf "%d", t[int((NR + 1) / 2)] * 1e6}'
}
settled() { [ "$(curl -sf "$NOMAD_ADDR/v1/evaluations?status=pending&per_page=1")" = "[]" ]; }
eventually 300 "evaluations are still pending" settled
median "$NOMAD_ADDR/v1/status/leader" > /dev/null # once unmeasured
call=$(median "$NOMAD_ADDR/v1/status/leader")
page=$(median "$NOMAD_ADDR/v1/jobs?per_page=800")
all=$(median "$NOMAD_ADDR/v1/jobs")
echo "a call of its own (/v1/status/leader)   $call µs"
echo "a page of 800 jobs                      $page µs   $((page * 1000 / 800)) ns a job"
echo "all $JOBS jobs                          $all µs   $((all * 1000 / JOBS)) ns a job"
