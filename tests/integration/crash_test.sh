#!/usr/bin/env bash
# An agent that is killed at any moment of its tasks' lives: nothing runs twice, no line of a log is lost, nothing is left.
#   CRASHES=N   so many (20)      SEED=N   the moments (1)
. "$(dirname "$0")/lib.sh"

skip() { echo "skipped: missing: $1"; exit 77; }
[ "$(id -u)" = 0 ] || skip "root"
unshare -n ip link add probe type bridge 2> /dev/null || skip "bridges in this kernel"
unshare -n nft add table inet probe 2> /dev/null || skip "nftables in this kernel"
RANDOM=${SEED:-1}
BRIDGE=dtc$$

clean_up_all() {
  local path id ids
  ids=$(ls "$WORK"/one-data/alloc 2> /dev/null)
  awk -v work="$WORK" 'index($2, work) == 1 { print $2 }' /proc/self/mounts | while read -r path; do umount "$path"; done
  pkill -9 -f "crash-test-$$-"
  clean_up
  for id in $ids; do [ ! -e "/run/netns/$id" ] || { umount "/run/netns/$id"; rm "/run/netns/$id"; } done 2> /dev/null
  ip link del "$BRIDGE" 2> /dev/null
  nft delete table inet "drover_$BRIDGE" 2> /dev/null
  for side in -i -o; do iptables -w -D FORWARD $side "$BRIDGE" -j ACCEPT; done 2> /dev/null
}
trap clean_up_all EXIT

config one << MORE
client {
  cni_path              = "/nowhere"
  bridge_network_name   = "$BRIDGE"
  bridge_network_subnet = "10.213.5.0/24"
}
$RAW_EXEC
MORE
# Each task counts its lines, and its process says of which allocation it is.
task() { # NAME DRIVER
  cat << JOB
    task "$1" {
      driver       = "$2"
      kill_timeout = "2s"
      config {
        command = "/bin/bash"
        args    = ["-c", "trap exit TERM; i=0; while :; do echo line \$((i += 1)); sleep 0.02; done", "crash-test-$$-\${NOMAD_ALLOC_ID}-\${NOMAD_TASK_NAME}"]
      }
      template {
        destination = "local/conf"
        data        = "{{ env \"NOMAD_ALLOC_ID\" }}"
      }
      resources {
        cpu    = 20
        memory = 32
      }
      logs {
        max_files     = 5
        max_file_size = 5
      }
    }
JOB
}
{
  echo 'job "lives" {'
  printf '  group "apart" {\n    network {\n      mode = "bridge"\n      port "http" {\n        to = 80\n      }\n    }\n'
  task a exec
  task b exec
  printf '  }\n  group "plain" {\n    count = 2\n'
  task c raw_exec
  printf '  }\n}\n'
} > "$WORK/lives.hcl"

crash() {
  kill -9 "$AGENT"
  eventually 10 "the agent lives" gone "$AGENT"
}
# A moment of the life of what was just ordered.
moment() { read -r -t "0.$(printf %03d $((RANDOM % 400)))" -u "$NEVER" || true; }
running() { "$DROVER" job status lives | awk '/^Allocations/ { found = 1 } found && / running / { print $1 }'; }
three_run() { [ "$(running | wc -l)" = 3 ]; }
# The tasks' processes, each once: bash forks for its sleep for a moment, so parents only.
processes() {
  local pid
  for pid in $(pgrep -f "^/bin/bash .*crash-test-$$-"); do
    case $(tr '\0' ' ' < "/proc/$(awk '{ print $4 }' "/proc/$pid/stat" 2> /dev/null)/cmdline") in *crash-test-$$-*) ;; *) echo "$pid" ;; esac
  done 2> /dev/null
}
four_processes() { local pids; pids=$(processes); echo "processes: $pids"; [ "$(wc -w <<< "$pids")" = 4 ]; }
# Lines follow each other without a gap; the last one may still be on its way.
is_whole() { # ALLOC TASK
  "$DROVER" alloc logs -task "$2" "$1" | awk '$2 == 1 { n = 0 } $2 != n + 1 { print "line " $2 " after " n; exit 1 } { n = $2 } END { if (n < 1) { print "no line"; exit 1 } }'
}
lease() { nft list map inet "drover_$BRIDGE" any4 2> /dev/null | grep elements; }
left() {
  processes
  ls "$WORK/one-data/alloc" | while read -r id; do ls -d "/run/netns/$id"; find /sys/fs/cgroup -maxdepth 4 -type d -name "$id*"; done 2> /dev/null
  ip -o link show master "$BRIDGE" 2> /dev/null
  lease
}
nothing_left() { ! left | grep .; }
# All allocations that there are have come to their end.
all_ended() { ! "$DROVER" job status lives | awk '/^Allocations/ { found = 1 } found' | grep -E ' (running|pending) '; }

start one
crashes=0
while [ $crashes -lt "${CRASHES:-20}" ]; do
  expect 0 "" "$DROVER" job run -detach "$WORK/lives.hcl"
  for _ in 1 2; do
    moment
    crash
    start one
    crashes=$((crashes + 1))
  done
  eventually 60 "not all run" three_run
  eventually 20 "not one process for each task" four_processes
  for id in $(running); do
    case $("$DROVER" alloc status "$id") in *'.apart['*) names="a b" ;; *) names=c ;; esac
    for name in $names; do eventually 20 "lines of $name are lost" is_whole "$id" "$name"; done
  done
  expect 0 "" "$DROVER" job stop -detach lives
  moment
  crash
  start one
  crashes=$((crashes + 1))
  eventually 60 "not all have ended" all_ended
  eventually 20 "something is left" nothing_left
done
expect 0 "" "$DROVER" system gc
no_folders() { [ -z "$(ls "$WORK/one-data/alloc")" ] && ! grep "$WORK/one-data/alloc" /proc/self/mounts; }
eventually 60 "folders are left" no_folders
echo "$crashes crashes, seed ${SEED:-1}"
passed
