#!/usr/bin/env bash
# How long a plan takes on a real agent, beside the shortest call there is in the same run: the difference is the work.
# The job has one group of ten allocations; it is planned as new, and against itself while it runs.
#
#   DROVER=build/bin/drover tests/bench/plan/plan_bench.sh [rounds]
. "$(dirname "$0")/../../integration/lib.sh"
command -v curl > /dev/null || { echo "plan_bench needs curl, which is missing" >&2; exit 1; }
ROUNDS=${1:-200}

config one < /dev/null
start one
cd "$WORK" || exit 1
cat > job.hcl << 'JOB'
job "planned" {
  group "g" {
    count = 10
    task "t" {
      driver = "mock_driver"
      config {
        run_for = "1h"
      }
      resources {
        cpu    = 10
        memory = 10
      }
    }
  }
}
JOB
"$DROVER" job run -output job.hcl | sed 's/^{/{"Diff": true,/' > plan.json || fail "no job"

# The median of the rounds in microseconds, over one connection. The rest of the line names what is asked.
median() {
  local i
  for ((i = 0; i < ROUNDS; i++)); do printf 'next\nsilent\noutput = /dev/null\nwrite-out = "%%{time_total}\\n"\n%s\n' "$1"; done | sed 1d > calls
  curl -q --config calls | sort -n | awk '{t[NR] = $1} END {printf "%d", t[int((NR + 1) / 2)] * 1e6}'
}
plan="request = PUT
data-binary = @plan.json
url = $NOMAD_ADDR/v1/job/planned/plan"
median "url = $NOMAD_ADDR/v1/status/leader" > /dev/null # once unmeasured
call=$(median "url = $NOMAD_ADDR/v1/status/leader")
new=$(median "$plan")
expect 0 'finished with status "complete"' "$DROVER" job run job.hcl
same=$(median "$plan")
ratio() { awk -v a="$1" -v b="$2" 'BEGIN {printf "%.1f", a / b}'; }
echo "a call of its own (/v1/status/leader)   $call µs"
echo "plan of a new job of ten                $new µs   $(ratio "$new" "$call") calls"
echo "plan of the same job while it runs      $same µs   $(ratio "$same" "$call") calls"
