#!/usr/bin/env bash
# Reserved cores under a real agent: the task that reserves one has it alone, among processes and containers, also after
# the agent was killed.
. "$(dirname "$0")/lib.sh"
: "${ENGINE:?names the script that runs an engine}"

TREE=$(awk '/ - cgroup / && $NF ~ /(^|,)cpuset(,|$)/ { print $5; exit }' /proc/self/mountinfo)
ALL=$(cat "$TREE/cpuset.cpus" 2> /dev/null)
if [ "$(id -u)" != 0 ] || [ ! -w "${TREE:-/none}" ] || [[ $ALL != 0-* ]]; then
  echo "skipped: missing: root, and control groups of processors (version 1) with two of them from 0"
  exit 77
fi
FIRST=0 OTHERS=1${ALL#0}
[ "$ALL" != 0-1 ] || OTHERS=1
GROUP=dtcores$$
clean_up_all() {
  local pid
  for pid in "${AGENTS[@]}"; do ! is_own_child "$pid" || kill -9 "$pid" 2> /dev/null; done
  [ -z "${HAS_ENGINE:-}" ] || "$ENGINE" stop "$WORK/engine"
  clean_up
  find "$TREE/$GROUP" -depth -type d -exec rmdir {} + 2> /dev/null
}
trap clean_up_all EXIT
if WHY=$("$ENGINE" start docker "$WORK/engine" 2>&1); then HAS_ENGINE=yes; else
  "$ENGINE" stop "$WORK/engine"
  echo "no container is tried: $WHY"
fi

config one << CONFIG
client {
  cgroup_parent = "$GROUP"
}
plugin "docker" {
  config {
    endpoint = "unix://$WORK/engine/socket"
  }
}
$RAW_EXEC
CONFIG
# job NAME DRIVER RESOURCES [CONFIG-LINES]: says each change of the cores that its process may use.
job() {
  cat > "$WORK/$1.nomad" << JOB
job "$1" {
  group "g" {
    task "t" {
      driver = "$2"
      config {
        command = "/bin/sh"
        args    = ["-c", "echo has \$NOMAD_CPU_CORES.; while :; do now=\$(sed -n 's/Cpus_allowed_list:[^0-9]*//p' /proc/self/status); [ \"\$now\" = \"\$last\" ] || echo \"on \$now\"; last=\$now; sleep 0.1; done"]
        ${4:-}
      }
      resources {
        $3
        memory = 32
      }
    }
  }
}
JOB
  expect 0 "" "$DROVER" job run -detach "$WORK/$1.nomad"
}
declare -A ALLOCS
runs() { ALLOCS[$1]=$(alloc_of "$1") && [ -n "${ALLOCS[$1]}" ] && "$DROVER" alloc status "${ALLOCS[$1]}" | grep -q 'is "running"'; }
said() { "$DROVER" alloc logs "${ALLOCS[$1]}" > "$WORK/said" && [ "$(tail -n 1 "$WORK/said")" = "$2" ]; }
is_on() { # CORES JOB…: each of them, and commands beside it
  local cores=$1 job
  for job in "${@:2}"; do
    eventually 30 "the task of $job is not on $cores" said "$job" "on $cores"
    expect 0 "$(printf 'Cpus_allowed_list:\t%s' "$cores")" "$DROVER" alloc exec "${ALLOCS[$job]}" grep Cpus_allowed_list /proc/self/status
  done
}
shared_is() { [ "$(cat "$TREE/$GROUP/share/cpuset.cpus")" = "$1" ]; }

start one
node() { "$DROVER" operator api "/v1/node/$("$DROVER" node status -verbose | awk 'NR == 2 { print $1 }')"; }
node | tr -d ' \n' | grep -q '"ReservableCpuCores":\[0,1' || fail "the node has no cores to reserve: $(node)"

# Everyone shares all of them while nobody reserves.
OTHER_JOBS=(process locked_in)
job process raw_exec 'cpu = 20'
job locked_in exec 'cpu = 20'
if [ -n "${HAS_ENGINE:-}" ]; then
  has_docker() { node | grep -q '"driver.docker.version"'; }
  eventually 30 "the node does not have the driver docker" has_docker
  job container docker 'cpu = 20' 'image = "bb:t"'
  OTHER_JOBS+=(container)
fi
for each in "${OTHER_JOBS[@]}"; do eventually 60 "$each does not run" runs "$each"; done
is_on "$ALL" "${OTHER_JOBS[@]}"

# One of them for one task; the others make way at once, containers and processes alike.
job alone exec 'cores = 1'
eventually 60 "the task that reserves a core does not run" runs alone
"$DROVER" alloc logs "${ALLOCS[alone]}" | grep -qx "has $FIRST." || fail "the task is not told its core"
is_on "$FIRST" alone
is_on "$OTHERS" "${OTHER_JOBS[@]}"

# What there is not more of is not given away, and the person hears why.
cat > "$WORK/greedy.nomad" << JOB
job "greedy" {
  group "g" {
    task "t" {
      driver = "exec"
      config {
        command = "/bin/true"
      }
      resources {
        cores  = $(($(nproc --all) + 1))
        memory = 16
      }
    }
  }
}
JOB
expect 0 "" "$DROVER" job run -detach "$WORK/greedy.nomad"
is_blocked() { "$DROVER" job why greedy | grep -q cores; }
eventually 20 "it is not told that cores are missing" is_blocked
expect 0 "" "$DROVER" job stop -detach -purge greedy

# The agent is killed: tasks stay where they are, and what comes and goes afterwards counts.
kill -9 "$AGENT"
eventually 10 "the agent does not end" gone "$AGENT"
start one
eventually 60 "the task is not found again" runs alone
is_on "$FIRST" alone
is_on "$OTHERS" "${OTHER_JOBS[@]}"
if [ -n "${HAS_ENGINE:-}" ]; then
  expect 0 "" "$DROVER" job stop -detach alone
  eventually 60 "the core is not given back" shared_is "$ALL"
  is_on "$ALL" "${OTHER_JOBS[@]}"
  job boxed docker 'cores = 1' 'image = "bb:t"'
  eventually 60 "the container that reserves a core does not run" runs boxed
  is_on "$FIRST" boxed
  is_on "$OTHERS" "${OTHER_JOBS[@]}"
  expect 0 "" "$DROVER" job stop -detach boxed
fi
expect 0 "" "$DROVER" job stop -detach alone
eventually 60 "the core is not given back" shared_is "$ALL"
is_on "$ALL" "${OTHER_JOBS[@]}"

# What ended has left no group behind.
for each in "${OTHER_JOBS[@]}"; do expect 0 "" "$DROVER" job stop -detach "$each"; done
all_ended() { [ -z "$(cat "$TREE/$GROUP/share/cgroup.procs")" ]; }
eventually 60 "tasks are left" all_ended
[ -z "$(find "$TREE/$GROUP/share" "$TREE/$GROUP/reserve" -mindepth 1 -type d)" ] || fail "groups are left: $(find "$TREE/$GROUP" -type d)"
kill -TERM "$AGENT"
eventually 30 "the agent does not end" gone "$AGENT"

# Cores that are no tasks' are nobody's.
sed -i "s/  cgroup_parent = .*/&\n  reserved {\n    cores = \"0\"\n  }/" "$WORK/one.hcl"
start one
node | tr -d ' \n' | grep -q '"ReservedCpuCores":\[0\]' || fail "the kept core is not told: $(node)"
shared_is "$OTHERS" || fail "tasks may use the kept core"
kill -TERM "$AGENT"
eventually 30 "the agent does not end" gone "$AGENT"
sed -i 's/cores = "0"/cores = "4000"/' "$WORK/one.hcl"
expect 1 "client.reserved.cores: this machine has no core 4000" timeout 30 "$DROVER" agent -config "$WORK/one.hcl"
passed
