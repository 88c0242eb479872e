#!/usr/bin/env bash
# From the order to running tasks, and to their end, on one node: COUNT tasks of a driver in one job, beside plain fork and
# exec in the same run. The times are the servers' and the node's own: when the job was submitted, when the last task began
# and ended. Needs root.
#   task_start_bench.sh [COUNT] [DRIVER…]           500, raw_exec and exec; docker: with the engine of the tests
#   task_start_bench.sh -idle [COUNT] [DRIVER…]     1000: what tasks that do nothing cost a node, whose server is another
#                                                   process; IDLE_SECONDS (30) long
set -u
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
export DROVER=${DROVER:-$HERE/../../../build-release/bin/drover}
. "$HERE/../../integration/lib.sh"
ENGINE=$HERE/../../../drivers/docker/testing/engine.sh
IS_IDLE='' COUNT=500
if [ "${1:-}" = -idle ]; then IS_IDLE=1 COUNT=1000; shift; fi
if [ $# -gt 0 ]; then COUNT=$1; shift; fi
DRIVERS=("$@")
[ ${#DRIVERS[@]} -gt 0 ] || DRIVERS=(raw_exec exec)
if [ -n "$IS_IDLE" ] && [ ${#DRIVERS[@]} -gt 1 ]; then  # each on a node of its own: freed memory is kept for the next tasks
  for driver in "${DRIVERS[@]}"; do "$0" -idle "$COUNT" "$driver" || exit; done
  exit
fi

clean_up_all() {
  local path
  pkill -9 -f "task-start-$$"
  for path in "${AGENTS[@]}"; do kill -9 "$path" 2> /dev/null; done
  [ ! -e "$WORK/engine" ] || "$ENGINE" stop "$WORK/engine"
  awk -v work="$WORK" 'index($2, work) == 1 { print $2 }' /proc/self/mounts | while read -r path; do umount "$path" 2> /dev/null; done
  clean_up
}
trap clean_up_all EXIT

now_ms() { echo $(($(date +%s%N) / 1000000)); }
seconds() { awk -v ms="$1" 'BEGIN { printf "%.2f", ms / 1000 }'; }
each() { awk -v ms="$1" -v n="$COUNT" 'BEGIN { printf "%.1f", ms / n }'; }

case " ${DRIVERS[*]} " in *' docker '*) "$ENGINE" start docker "$WORK/engine" > /dev/null || exit 77 ;; esac
NODE=$(cat << MORE
client {
  cpu_total_compute = 10000000
  memory_total_mb   = 10000000
  disk_free_mb      = 10000000
  disk_total_mb     = 10000000
  gc_max_allocs     = 100000
  # A small root: building it is the measure of a disk, not of an agent.
  chroot_env {
    "/bin/busybox" = "/bin/busybox"
    "/etc/passwd"  = "/etc/passwd"
    "/etc/group"   = "/etc/group"
  }
}
$RAW_EXEC
plugin "docker" {
  config {
    endpoint = "unix://$WORK/engine/socket"
  }
}
MORE
)
if [ -n "$IS_IDLE" ]; then
  server_and_node "" "$NODE"
  eventually 20 "no ready node" node_is_ready
else
  config one <<< "$NODE"
  start one
fi

# The work without any orchestrator.
fork_and_exec() {
  local began i
  began=$(now_ms)
  for ((i = 0; i < COUNT; i++)); do (exec -a "task-start-$$" /bin/sleep 1000) & disown; done
  until [ "$(pgrep -c -f "^task-start-$$")" -ge "$COUNT" ]; do :; done
  echo $(($(now_ms) - began))
  pkill -9 -f "^task-start-$$"
}
docker_run() {
  local began i
  began=$(now_ms)
  for ((i = 0; i < COUNT; i++)); do docker -H "unix://$WORK/engine/socket" run -d --network host bb:t /bin/sleep 1000 > /dev/null; done
  echo $(($(now_ms) - began))
  docker -H "unix://$WORK/engine/socket" ps -q | xargs docker -H "unix://$WORK/engine/socket" rm -f > /dev/null
}
job() { # DRIVER
  local image='' command=/bin/busybox arguments='["sleep", "1000"]'
  [ "$1" != docker ] || image='image = "bb:t"' command=/bin/sleep arguments='["1000"]'
  cat << JOB
job "$1" {
  group "g" {
    count = $COUNT
    ephemeral_disk {
      size = 10
    }
    task "t" {
      driver       = "$1"
      kill_timeout = "50ms"
      config {
        $image
        command = "$command"
        args    = $arguments
      }
      resources {
        cpu    = 2
        memory = 10
      }
      logs {
        max_files     = 1
        max_file_size = 1
      }
    }
  }
}
JOB
}
count_is() { [ "$("$DROVER" job status "$1" | awk -v at="$2" '$1 == "g" { print $at; exit }')" = "$3" ]; }
# The latest of a time of all tasks of a job, in milliseconds since 1970.
latest() { # JOB FIELD
  "$DROVER" operator api "/v1/job/$1/allocations" | sed -n "s/.*\"$2\": \"\(.*\)\".*/\1/p" | sort | tail -n 1 | { read -r at; echo $(($(date -d "$at" +%s%N) / 1000000)); }
}
memory_kb() { awk '/^(VmRSS|RssAnon)/ && !done { print $2; done = 1 }' "/proc/$AGENT/status"; }
threads() { awk '/^Threads/ { print $2 }' "/proc/$AGENT/status"; }
run_job() { # DRIVER
  job "$1" > "$WORK/$1.hcl"
  "$DROVER" job run -detach "$WORK/$1.hcl" > /dev/null || fail "the job is not taken"
  eventually 600 "not all of $1 run" count_is "$1" 4 "$COUNT"
}
stop_job() { # DRIVER
  "$DROVER" job stop -detach "$1" > /dev/null
  eventually 600 "not all of $1 end" count_is "$1" 4 0
}

# The launcher of the tasks, which outlives the agent.
launcher() { pgrep -f "^drover-launcher $WORK"; }
pss_kb() { # PID…
  local pid
  for pid; do cat "/proc/$pid/smaps_rollup" 2> /dev/null; done | awk '/^Pss:/ { sum += $2 } END { print sum + 0 }'
}
jiffies() { # PID…
  local pid
  for pid; do cat "/proc/$pid/stat" 2> /dev/null; done | sed 's/.*) //' | awk '{ sum += $12 + $13 } END { print sum + 0 }'
}
# The share of a core that the node takes, in percent.
idle_share() {
  local used seconds=${IDLE_SECONDS:-30}
  used=$(jiffies "$AGENT" $(launcher))
  read -r -t "$seconds" -u "$NEVER" || true
  used=$(($(jiffies "$AGENT" $(launcher)) - used))
  awk -v used="$used" -v hz="$(getconf CLK_TCK)" -v s="$seconds" 'BEGIN { printf "%.2f", 100 * used / hz / s }'
}
# Threads of a pool end when they have had nothing to do for a while.
rests() {
  local before
  before=$(threads)
  read -r -t 15 -u "$NEVER" || true
  [ "$(threads)" -ge "$before" ]
}
idle() { # NAME TASKS
  eventually 300 "the threads do not come to rest" rests
  IDLE_THREADS=$(threads) IDLE_KB=$(pss_kb "$AGENT") LAUNCHER_KB=$(pss_kb $(launcher))
  printf '%-10s %10s %10s %10s %10s %10s %12s %10s\n' "$1" "$2" "$IDLE_THREADS" "$(per "$((IDLE_THREADS - THREADS_BEFORE))" "$2")" "$IDLE_KB" \
    "$(per "$((IDLE_KB - KB_BEFORE))" "$2")" "$LAUNCHER_KB" "$(idle_share)"
}
per() { awk -v all="$1" -v n="$2" 'BEGIN { if (n > 0) printf "%.2f", all / n; else print "-" }'; }

if [ -n "$IS_IDLE" ]; then
  printf '%-10s %10s %10s %10s %10s %10s %12s %10s\n' driver tasks threads 'each' 'PSS kB' 'each' 'launcher kB' '% of core'
  THREADS_BEFORE=0 KB_BEFORE=0
  idle none 0
  THREADS_BEFORE=$IDLE_THREADS KB_BEFORE=$IDLE_KB
  run_job "${DRIVERS[0]}"
  idle "${DRIVERS[0]}" "$COUNT"
  exit
fi

printf '%-10s %10s %10s %10s %12s %12s %10s %10s\n' driver tasks 'start s' 'ms each' 'x fork+exec' 'stop s' 'kB each' threads
plain=$(fork_and_exec)
printf '%-10s %10s %10s %10s %12s\n' 'fork+exec' "$COUNT" "$(seconds "$plain")" "$(each "$plain")" 1
for driver in "${DRIVERS[@]}"; do
  [ "$driver" != docker ] || {
    other=$(docker_run)
    printf '%-10s %10s %10s %10s %12s\n' 'docker run' "$COUNT" "$(seconds "$other")" "$(each "$other")" "$(awk -v a="$other" -v b="$plain" 'BEGIN { printf "%.1f", a / b }')"
  }
  before=$(memory_kb)
  began=$(now_ms)
  run_job "$driver"
  started=$(($(latest "$driver" StartedAt) - began))
  after=$(memory_kb) busy=$(threads)
  began=$(now_ms)
  stop_job "$driver"
  stopped=$(($(latest "$driver" FinishedAt) - began))
  printf '%-10s %10s %10s %10s %12s %12s %10s %10s\n' "$driver" "$COUNT" "$(seconds "$started")" "$(each "$started")" \
    "$(awk -v a="$started" -v b="$plain" 'BEGIN { printf "%.1f", a / b }')" "$(seconds "$stopped")" $(((after - before) / COUNT)) "$busy"
  "$DROVER" job stop -purge -detach "$driver" > /dev/null
  "$DROVER" system gc > /dev/null
done
