#!/usr/bin/env bash
# The main job, told step by step: a real agent on free ports in a temporary folder runs the jobs of examples/jobs,
# loses a task, is itself killed with -9 and comes back, and leaves nothing behind. Needs bash and the built program.
set -u
cd "$(dirname "$0")/.."
DROVER=${DROVER:-$PWD/build/bin/drover}
JOBS=$PWD/examples/jobs
HOME_DIR=$(mktemp -d "${TMPDIR:-/tmp}/drover-demo-XXXXXX")
AGENT_PID=
STEP=0

say() { STEP=$((STEP + 1)); printf '\n\033[1m[%s] %s\033[0m\n' "$STEP" "$*"; }
run() { printf '\033[2m$ drover %s\033[0m\n' "$*"; "$DROVER" "$@"; }
die() {
  printf '\n\033[31mdemo failed: %s\033[0m\n' "$*" >&2
  [ -f "$HOME_DIR/agent.log" ] && { echo "the agent's last lines:" >&2; tail -n 30 "$HOME_DIR/agent.log" >&2; }
  exit 1
}
exec {NEVER}<> <(:)  # a pipe into which nobody writes: reading it with a limit is a pause without a process
# Waits until the command succeeds: eventually SECONDS WHAT COMMAND…
eventually() {
  local deadline=$((SECONDS + $1)) what=$2
  shift 2
  until "$@" > "$HOME_DIR/last" 2>&1; do
    [ $SECONDS -lt $deadline ] || die "$what did not happen in time; last seen: $(cat "$HOME_DIR/last")"
    read -r -t 0.1 -u "$NEVER" || true
  done
}
# Below what outgoing connections and allocations take.
free_port() {
  local port
  while port=$((RANDOM % 10000 + 10000)); (exec 3<> "/dev/tcp/127.0.0.1/$port") 2> /dev/null; do :; done
  echo "$port"
}
# Every process that belongs to this demo: tasks carry their folder in their environment, the rest in their arguments.
ours() {
  local dir
  for dir in /proc/[0-9]*; do
    [ "${dir#/proc/}" = "$$" ] && continue
    { tr '\0' '\n' < "$dir/environ" | grep -q "^NOMAD_ALLOC_DIR=$HOME_DIR" || tr '\0' ' ' < "$dir/cmdline" | grep -q "$HOME_DIR"; } 2> /dev/null &&
      echo "${dir#/proc/}"
  done
}
clean_up() {
  [ -n "$AGENT_PID" ] && kill -9 "$AGENT_PID" 2> /dev/null
  local pid dir
  for pid in $(ours); do kill -9 "$pid" 2> /dev/null; done
  awk -v work="$HOME_DIR/" 'index($5, work) == 1 { print $5 }' /proc/self/mountinfo | sort -r | while read -r dir; do umount -l "$dir"; done
  rm -rf "$HOME_DIR"
}
trap clean_up EXIT
trap 'exit 130' INT TERM

start_agent() {
  "$DROVER" agent -config "$HOME_DIR/agent.hcl" >> "$HOME_DIR/agent.log" 2>&1 &
  AGENT_PID=$!
  disown "$AGENT_PID"
  eventually 20 "a ready node" node_is_ready
}
node_is_ready() {
  kill -0 "$AGENT_PID" 2> /dev/null || { echo "the agent has ended"; return 1; }
  "$DROVER" node status | grep -q ' ready$'
}
# Addresses of the running instances of the web service, "host:port", in the order of their index.
addresses() {
  local alloc
  for alloc in $("$DROVER" job status -verbose web | awk '/^Allocations/{on=1} on && $5=="run" && $6=="running"{print $1}'); do
    "$DROVER" alloc status "$alloc" | awk '$1=="*http"{print $3}'
  done
}
fetch() {
  local host=${1%:*} port=${1##*:} line
  exec 3<> "/dev/tcp/$host/$port" || return 1
  printf 'GET / HTTP/1.0\r\n\r\n' >&3
  while IFS= read -r line <&3; do case $line in *" from instance "*) echo "$line" ;; esac; done
  exec 3>&-
}
pages() { local a; for a in $(addresses); do fetch "$a" 2> /dev/null; done; }
pids() { pages | sed 's/.*process //' | sort -n; }
instances_are() { [ "$(pids | wc -l)" -eq "$1" ] || { "$DROVER" job status web; return 1; }; }
job_is() { "$DROVER" job status "$1" | grep -q "^Status *= $2"; }

HTTP=$(free_port)
RPC=$(free_port)
export NOMAD_ADDR=http://127.0.0.1:$HTTP
cat > "$HOME_DIR/agent.hcl" << CONFIG
name      = "demo"
data_dir  = "$HOME_DIR/data"
bind_addr = "127.0.0.1"
ports {
  http = $HTTP
  rpc  = $RPC
}
server {
  enabled          = true
  bootstrap_expect = 1
}
client {
  enabled           = true
  network_interface = "lo"
}
plugin "raw_exec" {
  config {
    enabled = true
  }
}
CONFIG

say "An agent: server and node in one process, on port $HTTP, state in $HOME_DIR"
start_agent
run server members
run node status

say "A web service with two instances on dynamic ports"
run job run "$JOBS/web.hcl" || die "the web service was not placed"
eventually 20 "two answering instances" instances_are 2
run job status web
for address in $(addresses); do echo "GET http://$address/ -> $(fetch "$address")"; done

say "A batch job with ten short tasks"
run job run "$JOBS/batch.hcl" || die "the batch job was not placed"
eventually 60 "the end of the batch job" job_is primes dead
run job status -short primes
BATCH_ALLOC=$("$DROVER" job status -verbose primes | awk '$6=="complete"{print $1; exit}')
run alloc logs "$BATCH_ALLOC" || die "the batch task's log is missing"

say "A job that cannot fit says why"
run job run "$JOBS/too-large.hcl"
[ $? -eq 2 ] || die "a job that cannot fit must end with exit code 2"
run job stop -purge -detach too-large > /dev/null

say "What the first instance wrote"
WEB_ALLOC=$("$DROVER" job status -verbose web | awk '/^Allocations/{on=1} on && $6=="running"{print $1; exit}')
run alloc logs "$WEB_ALLOC" || die "the log is missing"

say "One instance is killed with -9 and comes back"
VICTIM=$(pids | head -n 1)
echo "$ kill -9 $VICTIM"
kill -9 "$VICTIM" || die "no process $VICTIM"
restarted() { instances_are 2 && ! pids | grep -qx "$VICTIM"; }
eventually 30 "the restart" restarted
for alloc in $("$DROVER" job status -verbose web | awk '/^Allocations/{on=1} on && $6=="running"{print $1}'); do
  "$DROVER" alloc status "$alloc" | grep -q 'Total Restarts *= 1' && run alloc status "$alloc" | sed -n '/Recent Events/,$p'
done

say "Three instances instead of two"
run job run -var instances=3 "$JOBS/web.hcl" || die "the update failed"
eventually 30 "three answering instances" instances_are 3
BEFORE=$(pids)
echo "processes:" $BEFORE

say "The agent itself is killed with -9; its tasks do not notice"
echo "$ kill -9 $AGENT_PID"
kill -9 "$AGENT_PID"
for pid in $BEFORE; do kill -0 "$pid" 2> /dev/null || die "task process $pid died with the agent"; done
echo "all of" $BEFORE "are still running"

say "The agent starts again: the same processes, the same state"
start_agent
eventually 30 "three answering instances" instances_are 3
AFTER=$(pids)
echo "processes:" $AFTER
[ "$BEFORE" = "$AFTER" ] || die "the processes are not the same"
run job status web
job_is web running || die "the job is not running"

say "A new version: a canary beside the three; once promoted, it replaces them one after the other"
run job run -detach -var instances=3 -var canaries=1 -var "greeting=good day" "$JOBS/web.hcl" || die "the new version was not taken"
greet() { [ "$(pages | grep -c "^$1")" -eq "$2" ] || { pages; return 1; }; }
eventually 20 "the canary" greet "good day" 1
greet hello 3 || die "the others did not stay"
DEPLOYMENT=$("$DROVER" operator api /v1/job/web/deployment | grep -oE '"ID": *"[0-9a-f-]{36}"' | grep -oE '[0-9a-f-]{36}')
promotable() { "$DROVER" operator api "/v1/deployment/$DEPLOYMENT" | grep -qE '"HealthyAllocs": *1'; }
eventually 20 "the canary's health" promotable
pages
run deployment promote "$DEPLOYMENT" > /dev/null || die "the canary was not promoted"
eventually 60 "three instances of the new version" greet "good day" 3
pages

say "The node is drained; there is no other, so nothing runs until it takes work again"
run node drain -enable -self -yes -deadline 5s || die "the node was not drained"
eventually 20 "no instance" instances_are 0
run node drain -disable -self -yes || die "the drain was not ended"
eventually 30 "three answering instances" instances_are 3

say "Everything is stopped"
# By their allocations: there may be another agent on this machine.
ALLOCATIONS=$("$DROVER" operator api /v1/allocations | grep -oE '"ID": *"[0-9a-f-]{36}"' | grep -oE '[0-9a-f-]{36}')
control_groups() { for id in $ALLOCATIONS; do find /sys/fs/cgroup -type d -name "$id*"; done; }
[ -n "$(control_groups)" ] || die "no task has a control group"
run job stop web || die "the job was not stopped"
job_is web dead || die "the job is not dead"
has_ended() { ! "$DROVER" job status -verbose "$1" | awk '/^Allocations/{on=1} on' | grep -w running; }
eventually 30 "the end of the tasks" has_ended web
kill -TERM "$AGENT_PID"
agent_is_gone() { ! kill -0 "$AGENT_PID" 2> /dev/null; }
eventually 20 "the end of the agent" agent_is_gone
AGENT_PID=
nothing_left() { [ -z "$(ours)" ] || { echo "processes left:"; ps -o pid,args -p "$(ours | paste -sd,)"; return 1; }; }
eventually 20 "the end of every process" nothing_left
groups_are_gone() { [ -z "$(control_groups)" ] || { control_groups; return 1; }; }
eventually 10 "the end of every control group" groups_are_gone
grep -q "$HOME_DIR" /proc/mounts && die "mounts left in $HOME_DIR"
rm -rf "$HOME_DIR"
printf '\n\033[32mThe demo is done; nothing is left behind.\033[0m\n'
