#!/usr/bin/env bash
# Lives of jobs in the midst of crashes. Each life starts and stops a job whose drivers, network and files are drawn from its seed,
# while the agent, the program of a driver or the container engine is killed with -9 at drawn moments of the start and of the
# stop. What ran goes on as the same process, nothing runs twice, no line of a log is lost; when it is over nothing is left:
# no process, mount, namespace, address, rule, control group, container or file.
#   DROVER_CRASH_SEEDS=FIRST-LAST   these lives, and not those from 1 on for which there is time
#   DROVER_CRASH_TIME=SECONDS       time for those (40)
. "$(dirname "$0")/lib.sh"
: "${DRIVERS:?names the folder of the drivers programs}" "${ENGINE:?names the script that runs an engine}"

skip() { echo "skipped: missing: $1"; exit 77; }
[ "$(id -u)" = 0 ] || skip "root"
[ -x /bin/busybox ] || skip "busybox (busybox-static)"
unshare -n ip link add probe type bridge 2> /dev/null || skip "bridges in this kernel"
unshare -n nft add table inet probe 2> /dev/null || skip "nftables in this kernel"
FIRST=1 LAST=1000000 TIME=${DROVER_CRASH_TIME:-40}
case ${DROVER_CRASH_SEEDS:-} in
  '') ;;
  [0-9]*-[0-9]*) FIRST=${DROVER_CRASH_SEEDS%-*} LAST=${DROVER_CRASH_SEEDS#*-} TIME=10000000 ;;
  *) fail "DROVER_CRASH_SEEDS is FIRST-LAST" ;;
esac
eval "plain_$(declare -f fail)"
fail() {
  local id
  for id in $(allocs 2> /dev/null | head -n 4); do "$DROVER" alloc status "$id" 2>&1 | sed -n '/^Task/,$p'; done
  plain_fail "life ${SEED:-0}: $* (again: DROVER_CRASH_SEEDS=${SEED:-1}-${SEED:-1})"
}
MARK=crash-test-$$
BRIDGE=dtc$$
IDS=()  # of all allocations

clean_up_all() {
  local path id
  for path in "${AGENTS[@]}"; do ! is_own_child "$path" || kill -9 "$path" 2> /dev/null; done
  pkill -9 -f "$MARK-"
  for id in "$WORK"/one-data/alloc/*; do IDS+=("${id##*/}"); done
  awk -v work="$WORK" 'index($2, work) == 1 { print $2 }' /proc/self/mounts | grep -v /engine/ | while read -r path; do umount "$path"; done
  [ ! -e "$WORK/engine" ] || "$ENGINE" stop "$WORK/engine"
  clean_up
  for id in "${IDS[@]}"; do [ ! -e "/run/netns/$id" ] || { umount "/run/netns/$id"; rm "/run/netns/$id"; } done 2> /dev/null
  ip link del "$BRIDGE" 2> /dev/null
  nft delete table inet "drover_$BRIDGE" 2> /dev/null
  for side in -i -o; do iptables -w -D FORWARD $side "$BRIDGE" -j ACCEPT; done 2> /dev/null
  find /sys/fs/cgroup -depth -type d -path "*/$BRIDGE*" -exec rmdir {} + 2> /dev/null
}
trap clean_up_all EXIT

# --- what lives need: an engine, a server of files, a volume, drivers inside the agent and as programs
KINDS=(raw_exec raw_exec_two exec exec_two)
WHY=$("$ENGINE" start docker "$WORK/engine" --live-restore 2>&1)
case $? in
  0) KINDS+=(docker docker_two) ;;
  77) "$ENGINE" stop "$WORK/engine"; echo "no container is tried: $WHY" ;;
  *) fail "the engine does not start: $WHY" ;;
esac
mkdir "$WORK/plugins" "$WORK/served" "$WORK/shared"
cp "$DRIVERS"/{raw_exec,exec,docker}-plugin "$WORK/plugins"
echo apple > "$WORK/served/fruit"
echo pear > "$WORK/shared/fruit"
FILES=$(free_port)
busybox httpd -f -p "127.0.0.1:$FILES" -h "$WORK/served" &
AGENTS+=("$!")
disown "$!"
docker_config() { # STATE-DIR
  printf 'endpoint = "unix://%s/engine/socket"\n    infra_image = "bb:t"\n    %s\n' "$WORK" "$1"
  printf '    gc {\n      image = false\n      dangling_containers {\n        period = "5s"\n        creation_grace = "1m"\n      }\n    }\n'
}
config one << CONFIG
plugin_dir = "$WORK/plugins"
server {
  heartbeat_grace = "10m"
}
client {
  cni_path              = "/nowhere"
  bridge_network_name   = "$BRIDGE"
  bridge_network_subnet = "10.213.5.0/24"
  cgroup_parent         = "$BRIDGE"
  host_volume "shared" {
    path = "$WORK/shared"
  }
}
$RAW_EXEC
plugin "raw_exec-plugin" {
  args = ["--name", "raw_exec_two"]
  config {
    enabled      = true
    launcher_dir = "$WORK/launcher-raw"
  }
}
plugin "exec-plugin" {
  args = ["--name", "exec_two"]
  config {
    launcher_dir = "$WORK/launcher-exec"
  }
}
plugin "docker" {
  config {
    $(docker_config '')
  }
}
plugin "docker-plugin" {
  args = ["--name", "docker_two"]
  config {
    $(docker_config "state_dir = \"$WORK/docker-state\"")
  }
}
CONFIG

# --- a life's job, and what happens to it
# Draws a number below N into DRAWN. (In a subshell the next one would be the same.) The first life has all that there is.
draw() { DRAWN=$(($RANDOM % $1)); [ "$JOB" != life0 ] || DRAWN=$(($1 - 1)); }
# task NAME DRIVER FILES: each task counts its lines and its starts where others can see them; its process says whose it is.
task() {
  local name=$1 driver=$2 files=$3 image='' show='' blocks=''
  case $driver in docker*) image='image   = "bb:t"' ;; esac
  case $files in *template*)
    show+=' $NOMAD_TASK_DIR/word'
    blocks+='
      template {
        destination = "local/word"
        data        = "{{ with nomadVar \"nomad/jobs\" }}{{ .word }}{{ end }}\n"
      }' ;;
  esac
  case $files in *artifact*)
    show+=' $NOMAD_TASK_DIR/fruit'
    blocks+="
      artifact {
        source = \"http://127.0.0.1:$FILES/fruit\"
      }" ;;
  esac
  case $files in *volume*)
    show+=' /vol/fruit'
    blocks+='
      volume_mount {
        volume      = "shared"
        destination = "/vol"
      }' ;;
  esac
  cat << JOB
    task "$name" {
      driver       = "$driver"
      kill_timeout = "2s"
      config {
        $image
        command = "/bin/sh"
        args    = ["-c", "trap 'echo bye; exit 0' TERM; echo start >> \$NOMAD_ALLOC_DIR/data/$name.starts; echo found \$(cat /dev/null$show); i=0; while :; do i=\$((i+1)); echo line \$i; echo \$i > \$NOMAD_ALLOC_DIR/data/$name.lines; sleep 0.05; done", "$MARK-\${NOMAD_ALLOC_ID}-$name"]
      }$blocks
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
# draw_job NAME: writes the job to a file, and what it is to STORY, PROGRAMS and TASKS (their number).
draw_job() {
  local groups group tasks number kind containers files shows has_volume text
  draw 2; groups=$((DRAWN + 1))
  STORY='' PROGRAMS=() TASKS=0 GROUPS_OF_LIFE=$groups
  declare -gA SHOWS=() KIND_OF=()
  printf 'job "%s" {\n' "$1" > "$WORK/$1.hcl"
  for ((group = 0; group < groups; group++)); do
    draw 2; tasks=$((DRAWN + 1))
    [ "$1" != life0 ] || tasks=${#KINDS[@]}
    draw 2
    text='' has_volume='' containers=''
    STORY+=" g$group:"
    [ $DRAWN = 0 ] || { STORY+=bridge,; text+='    network {
      mode = "bridge"
      port "http" {
        to = 80
      }
    }
'; }
    for ((number = 0; number < tasks; number++)); do
      draw ${#KINDS[@]}; kind=${KINDS[DRAWN]}
      if [ "$1" = life0 ]; then [ $group = 0 ] && kind=${KINDS[number]} || kind=${KINDS[-1 - number]}; fi
      case $kind in docker*) kind=${containers:=$kind} ;; esac  # one driver makes a group's network
      files='' shows=found
      draw 2; [ $DRAWN = 0 ] || files+=' template' shows+=' orange'
      draw 2; [ $DRAWN = 0 ] || files+=' artifact' shows+=' apple'
      draw 2; case $DRAWN$kind in 1exec*|1docker*) files+=' volume' shows+=' pear' has_volume=1 ;; esac
      case $kind in *_two) PROGRAMS+=("${kind%_two}-plugin") ;; esac
      case $kind in docker*) PROGRAMS+=(engine) ;; esac
      STORY+="$kind[${files# }]"
      text+=$(task "t$TASKS" "$kind" "$files")$'\n'
      SHOWS[t$TASKS]=$shows KIND_OF[t$TASKS]=$kind
      TASKS=$((TASKS + 1))
    done
    {
      printf '  group "g%s" {\n    restart {\n      attempts = 100\n      interval = "1h"\n      delay    = "300ms"\n      mode     = "delay"\n    }\n' "$group"
      [ -z "$has_volume" ] || printf '    volume "shared" {\n      type   = "host"\n      source = "shared"\n    }\n'
      printf '%s  }\n' "$text"
    } >> "$WORK/$1.hcl"
  done
  printf '}\n' >> "$WORK/$1.hcl"
}
pause_ms() { [ "$1" = 0 ] || read -r -t "$(($1 / 1000)).$(printf %03d $(($1 % 1000)))" -u "$NEVER" || true; }
process_of() {
  local exe
  for exe in /proc/[0-9]*/exe; do
    if [ "$(readlink "$exe" 2> /dev/null)" = "$1" ]; then exe=${exe#/proc/}; echo "${exe%/exe}"; return 0; fi
  done
  return 1
}
# strike WHOM: kills it; what an operator's init system would start anew is started anew.
strike() {
  local pid
  STRIKES=$((STRIKES + 1)) CRASHES=$((CRASHES + 1))
  case $1 in
    agent)
      kill -9 "$AGENT"
      eventually 20 "the agent lives" gone "$AGENT"
      run_agent one
      ;;
    engine)
      pid=$(cat "$WORK/engine/pid")
      kill -9 "$pid"
      ENGINE_DIED=1
      "$ENGINE" restart "$WORK/engine" > "$WORK/last" 2>&1 || fail "the engine does not start again: $(cat "$WORK/last")"
      ;;
    *) ! pid=$(process_of "$WORK/plugins/$1") || kill -9 "$pid" 2> /dev/null ;;
  esac
}
draw_victim() {
  draw $((${#PROGRAMS[@]} + 1))
  if [ $DRAWN = 0 ]; then VICTIM=agent; else VICTIM=${PROGRAMS[DRAWN - 1]}; fi
}

# --- what must be
allocs() { "$DROVER" job status "$JOB" | awk '/^Allocations/ { found = 1; getline; next } found && NF { print $1 }'; }
# Of each task: allocation, task, state.
STATES='{{ range $name, $state := .TaskStates }}{{ $name }} {{ $state.State }}{{ "\n" }}{{ end }}'
states() {
  local id
  for id in $(allocs); do "$DROVER" alloc status -t "$STATES" "$id" | sed -n "s/^./$id &/p"; done
}
all_run() { states; [ "$(states | grep -c ' running$')" = "$TASKS" ]; }
all_ended() { states; ! states | grep -Ev ' dead$' && [ -n "$(states)" ]; }
# The tasks' processes, each once: a shell forks for its sleep for a moment, so parents only.
processes() {
  local pid
  for pid in $(pgrep -f "^/bin/sh .*$MARK-"); do
    case $(tr '\0' ' ' < "/proc/$(awk '{ print $4 }' "/proc/$pid/stat" 2> /dev/null)/cmdline") in *"$MARK"-*) ;; *) tr '\0' '\n' < "/proc/$pid/cmdline" | grep "^$MARK-" ;; esac
  done 2> /dev/null
}
one_process_each() { processes; [ "$(processes | wc -l)" = "$TASKS" ] && [ "$(processes | sort -u | wc -l)" = "$TASKS" ]; }
data_of() { echo "$WORK/one-data/alloc/$1"*/alloc; }
starts() { wc -l 2> /dev/null < "$(data_of "$1")/data/$2.starts" || echo 0; }
# Notes how often those tasks have been started that the cluster says to run: not once more, whatever happens.
note_running() {
  local id name state
  while read -r id name state; do
    [ "$state" != running ] || RAN[$id/$name]=${RAN[$id/$name]:-$(starts "$id" "$name")}
  done < <(states 2> /dev/null)
}
none_was_restarted() {
  local one times
  for one in "${!RAN[@]}"; do
    times=$(starts "${one%/*}" "${one#*/}")
    [ "$times" = "${RAN[$one]}" ] || fail "$one ran and was started again: ${RAN[$one]} starts, then $times"
    [ "$times" -le $((STRIKES + 1)) ] || fail "$one was started $times times in $STRIKES crashes"
    CHECKS=$((CHECKS + 1))
  done
}
log_of() { local file; for ((file = 0; file < 5; file++)); do cat "$(data_of "$1")/logs/$2.stdout.$file" 2> /dev/null; done; }
# Lines follow each other without a gap, from each start on; no fewer than the task itself has counted. An engine that is
# killed loses what it has read and not written; who reads its log and is killed may read the last piece again.
is_whole() { # ALLOC TASK
  local repeats=''
  case ${KIND_OF[$2]} in docker*) repeats=1 ;; esac
  log_of "$1" "$2" | awk -v counted="$(cat "$(data_of "$1")/data/$2.lines")" -v may_miss="$repeats$ENGINE_DIED" -v repeats="$repeats" '
    /^found/ { n = 0 }
    /^line/ && $2 != n + 1 && !(may_miss == "11" && $2 > n) && !(repeats && $2 <= n && n - $2 < 5) { print "line " $2 " after " n; exit bad = 1 }
    /^line/ { n = $2 }
    END { if (!bad && n < counted) { print n " lines, and " counted " were written"; exit 1 } exit bad }'
}
goes_on() { local lines; lines=$(cat "$(data_of "$1")/data/$2.lines") && [ "${lines:-0}" -gt "$3" ]; }
# Its files were there at each start, whatever happened while they came.
found() { # ALLOC TASK
  log_of "$1" "$2" | grep '^found' | sort -u
  [ "$(log_of "$1" "$2" | grep '^found' | sort -u)" = "${SHOWS[$2]}" ]
}
# What this machine has of the agent's, in a form to compare: the same before a life and after it.
world() {
  local id
  processes
  awk -v data="$WORK/one-data/" 'index($2, data) == 1 { print "mount " $2 }' /proc/self/mounts
  for id in "${IDS[@]}"; do
    ls -d "/run/netns/$id"
    ip -o link | grep "veth${id:0:8}"
  done 2> /dev/null
  ip -o link show master "$BRIDGE" 2> /dev/null
  nft list table inet "drover_$BRIDGE" 2> /dev/null
  iptables -w -S 2> /dev/null | grep "$BRIDGE"
  find /sys/fs/cgroup -type d -path "*/$BRIDGE*" 2> /dev/null | sort
  (cd "$WORK" && find one-data docker-state launcher-* -path one-data/server -prune -o -path one-data/local -prune -o ! -type s -print | sort) 2> /dev/null
}
same_world() { world > "$WORK/world.now"; diff "$WORK/world.before" "$WORK/world.now"; }
containers() { [ ! -e "$WORK/engine/socket" ] || docker -H "unix://$WORK/engine/socket" ps -a --format '{{.Names}} {{.Status}}'; }
none_live() { containers | grep ' Up '; ! containers | grep -q ' Up '; }
none_left() { containers; [ -z "$(containers)" ]; }
folders_go() { "$DROVER" system gc; [ -z "$(ls "$WORK/one-data/alloc")" ]; }

# life SEED: its moments are drawn first, so that one seed is one story however long things take.
life() {
  local seed=$1 strikes=() stop_strike purge='' at id name lines victim ms
  RANDOM=$(($(cksum <<< "life $seed" | cut -d' ' -f1) % 32768))
  JOB=life$seed STRIKES=0 ENGINE_DIED=''
  declare -gA RAN=()
  draw_job "$JOB"
  draw 2
  for ((at = DRAWN + 1; at > 0; at--)); do
    draw_victim; draw 1500
    strikes+=("$DRAWN $VICTIM")
  done
  draw_victim; draw 1000; stop_strike="$DRAWN $VICTIM"
  draw 2; [ $DRAWN = 0 ] || purge=-purge
  [ "$seed" != 0 ] || strikes=() stop_strike=''
  echo "seed $seed:$STORY; start: ${strikes[*]:-no crash}; stop$purge: ${stop_strike:-no crash}"

  eventually 30 "the job is not taken" "$DROVER" job run -detach "$WORK/$JOB.hcl"
  for at in "${strikes[@]}"; do
    pause_ms "${at% *}"
    note_running
    strike "${at#* }"
  done
  eventually 90 "not all tasks run" all_run
  eventually 20 "not one process for each task" one_process_each
  IDS=() ; for id in "$WORK"/one-data/alloc/*; do IDS+=("${id##*/}"); done
  [ "${#IDS[@]}" = "$GROUPS_OF_LIFE" ] || fail "$GROUPS_OF_LIFE groups have the allocations ${IDS[*]}"
  note_running
  [ "${#RAN[@]}" = "$TASKS" ] || fail "$TASKS tasks run, and these were noted: ${!RAN[*]}"
  for at in "${!RAN[@]}"; do
    id=${at%/*} name=${at#*/}
    lines=$(cat "$(data_of "$id")/data/$name.lines")
    eventually 20 "$at does not go on" goes_on "$id" "$name" "${lines:-0}"
    eventually 20 "$at has lost lines" is_whole "$id" "$name"
    eventually 10 "$at does not find its files" found "$id" "$name"
    CHECKS=$((CHECKS + 3))
  done
  expect 0 "" "$DROVER" job stop -detach $purge "$JOB"
  if [ -n "$stop_strike" ]; then
    pause_ms "${stop_strike% *}"
    strike "${stop_strike#* }"
  fi
  eventually 30 "no ready node" node_is_ready
  if [ -n "$purge" ]; then all_over=none_runs; else all_over=all_ended; fi
  eventually 60 "not all have ended" $all_over
  for at in "${!RAN[@]}"; do eventually 20 "$at has lost its last lines" is_whole "${at%/*}" "${at#*/}"; done
  none_was_restarted
  eventually 30 "containers run on" none_live
  [ -n "$purge" ] || expect 0 "" "$DROVER" job stop -detach -purge "$JOB"
  eventually 60 "folders are left" folders_go
  [ "$seed" = 0 ] || eventually 30 "something is left" same_world
  rm "$WORK/$JOB.hcl"
}
none_runs() { processes; [ -z "$(processes)" ]; }

start one
eventually 20 "the variable is not taken" "$DROVER" var put -force nomad/jobs word=orange
CRASHES=0 LIVES=0
life 0  # without a crash: what stays of it is what stays
strike agent
eventually 30 "no ready node" node_is_ready
world > "$WORK/world.before"
SECONDS=0
for ((seed = FIRST; seed <= LAST && SECONDS < TIME; seed++)); do
  SEED=$seed
  life "$seed"
  LIVES=$((LIVES + 1))
done
eventually 100 "containers are left" none_left
echo "$LIVES lives, $CRASHES crashes"
passed
