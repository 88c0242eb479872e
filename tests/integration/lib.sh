# Shared by the integration scripts: a real agent in a folder of its own, and checks that say what they saw.
# Sourced with DROVER set to the program under test. KEEP_WORK=1 leaves the folder for a look afterwards.
set -u
: "${DROVER:?names the program under test}"
WORK=$(mktemp -d "${TMPDIR:-/tmp}/drover-test-XXXXXX")
AGENTS=()
CHECKS=0
exec {NEVER}<> <(:)  # a pipe into which nobody writes: reading it with a limit is a pause without a process

# Below what outgoing connections and allocations take.
# Each one once: the first is not in use yet when the second is looked for.
free_port() {
  local port
  while port=$((RANDOM % 10000 + 10000)); grep -qx "$port" "$WORK/ports" 2> /dev/null || (exec 3<> "/dev/tcp/127.0.0.1/$port") 2> /dev/null; do :; done
  echo "$port" | tee -a "$WORK/ports"
}
# The number may belong to another process by now, for example of a test beside this one.
is_own_child() { [ "$(sed -n 's/^PPid:[[:space:]]*//p' "/proc/$1/status" 2> /dev/null)" = $$ ]; }
clean_up() {
  local pid dir
  for pid in "${AGENTS[@]}"; do ! is_own_child "$pid" || kill -9 "$pid" 2> /dev/null; done
  for dir in /proc/[0-9]*; do
    if { tr '\0' '\n' < "$dir/environ" | grep -q "^NOMAD_ALLOC_DIR=$WORK" || tr '\0' ' ' < "$dir/cmdline" | grep -q "$WORK"; } 2> /dev/null; then
      kill -9 "${dir#/proc/}" 2> /dev/null
    fi
  done
  [ -z "${KEEP_WORK:-}" ] || return
  # The secrets of tasks that were left running lie in memory.
  awk -v work="$WORK/" 'index($5, work) == 1 { print $5 }' /proc/self/mountinfo | sort -r | while read -r dir; do umount -l "$dir"; done
  rm -rf "$WORK"
}
trap clean_up EXIT

fail() {
  printf 'FAILED: %s\n' "$*" >&2
  for log in "$WORK"/*.log; do [ -f "$log" ] && { echo "--- $log" >&2; tail -n 25 "$log" >&2; }; done
  exit 1
}
# Waits until the command succeeds, at most SECONDS (times DROVER_TEST_PATIENCE, where programs are slower than usual).
eventually() { # SECONDS WHAT COMMAND…
  local deadline=$((SECONDS + $1 * ${DROVER_TEST_PATIENCE:-1})) what=$2
  shift 2
  until "$@" > "$WORK/last" 2>&1; do
    [ $SECONDS -lt $deadline ] || fail "$what; last seen: $(cat "$WORK/last")"
    read -r -t 0.05 -u "$NEVER" || true
  done
}
# grep_bytes UUID PLACE…: the first files there that have its sixteen bytes.
grep_bytes() {
  local bytes=${1//-/}
  shift
  find "$@" -type f -exec perl -0777 -ne 'BEGIN { $bytes = pack("H*", shift) } print "$ARGV\n" if index($_, $bytes) >= 0' "$bytes" {} + | head -n 3
}
# expect CODE TEXT COMMAND…: the exit code, and a text somewhere in the output.
expect() {
  local code=$1 text=$2 output got
  shift 2
  output=$("$@" 2>&1 < /dev/null)
  got=$?
  CHECKS=$((CHECKS + 1))
  [ "$got" -eq "$code" ] || fail "exit code $got, expected $code: $* : $output"
  case $output in *"$text"*) ;; *) fail "the output does not say \"$text\": $* : $output" ;; esac
}
# For configurations: jobs may run programs with the agent's rights.
RAW_EXEC='plugin "raw_exec" {
  config {
    enabled = true
  }
}'
# config NAME: a working configuration for one agent, with further lines from standard input.
config() {
  HTTP=$(free_port)
  RPC=$(free_port)
  export NOMAD_ADDR=http://127.0.0.1:$HTTP
  cat > "$WORK/$1.hcl" << CONFIG
name      = "$1"
data_dir  = "$WORK/$1-data"
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
  enabled = true
}
CONFIG
  cat >> "$WORK/$1.hcl"
}
# server_config NAME HTTP RPC: one for an agent that is a server only; further lines of the block `server` are SERVER_LINES.
server_config() {
  cat > "$WORK/$1.hcl" << CONFIG
name      = "$1"
data_dir  = "$WORK/$1-data"
bind_addr = "127.0.0.1"
ports {
  http = $2
  rpc  = $3
}
server {
  enabled          = true
  bootstrap_expect = 1
  ${SERVER_LINES:-}
}
CONFIG
  cat >> "$WORK/$1.hcl"
}
# client_config NAME HTTP RPC: one for an agent that is a node only, of the server with that RPC port.
client_config() {
  cat > "$WORK/$1.hcl" << CONFIG
name      = "$1"
data_dir  = "$WORK/$1-data"
bind_addr = "127.0.0.1"
ports {
  http = $2
}
client {
  enabled           = true
  servers           = ["127.0.0.1:$3"]
  network_interface = "lo"
}
CONFIG
  cat >> "$WORK/$1.hcl"
}
# run_agent NAME: runs the agent in the background. AGENT is its process.
run_agent() {
  "$DROVER" agent -config "$WORK/$1.hcl" >> "$WORK/$1.log" 2>&1 &
  AGENT=$!
  AGENTS+=("$AGENT")
  disown "$AGENT"
}
# start NAME: the same, and waits until its node is ready.
start() {
  run_agent "$1"
  eventually 20 "no ready node" node_is_ready
}
# server_and_node SERVER-LINES NODE-LINES: runs a server and a node of it, each with these further lines of configuration,
# in the folder WORK. SERVER and CLIENT are their processes, SERVER_HTTP, SERVER_RPC and CLIENT_HTTP their ports.
server_and_node() {
  SERVER_HTTP=$(free_port) SERVER_RPC=$(free_port) CLIENT_HTTP=$(free_port)
  export NOMAD_ADDR=http://127.0.0.1:$SERVER_HTTP
  server_config server "$SERVER_HTTP" "$SERVER_RPC" <<< "$1"
  client_config client "$CLIENT_HTTP" "$SERVER_RPC" <<< "$2"
  cd "$WORK" || exit 1
  run_agent server
  SERVER=$AGENT
  eventually 20 "no leader" "$DROVER" operator api /v1/status/leader
  eventually 20 "no RPC port" bash -c "exec 3<> /dev/tcp/127.0.0.1/$SERVER_RPC"  # it opens after the API
  run_agent client
  CLIENT=$AGENT
}
# Access control begins: the command makes the first management token, which is NOMAD_TOKEN from here on.
bootstrap() {
  "$DROVER" acl bootstrap > "$WORK/boot" || fail "no bootstrap: $(cat "$WORK/boot")"
  NOMAD_TOKEN=$(field "Secret ID" < "$WORK/boot")
  export NOMAD_TOKEN
}
# field NAME: the value of a line "NAME = value" of a command's output.
field() { awk -v key="$1" '$0 ~ "^" key " *=" { print $NF; exit }'; }
# with TOKEN COMMAND…: the command as the one whose token it is.
with() { local token=$1; shift; NOMAD_TOKEN=$token "$@"; }
# logged NAME TEXT: true when that agent's log has a line like this.
logged() { grep -q "$2" "$WORK/$1.log"; }
# node_token FOLDER: the identity that the node agent with that data folder holds.
node_token() {
  LC_ALL=C grep -raohE 'token.{1,4}eyJ[A-Za-z0-9_-]+[.][A-Za-z0-9_-]+[.][A-Za-z0-9_-]+' "$1/local" | tail -n 1 | grep -ao 'eyJ.*'
}
node_is_ready() {
  kill -0 "$AGENT" 2> /dev/null || { echo "the agent has ended"; return 1; }
  "$DROVER" node status | grep -q ' ready$'
}
gone() { ! kill -0 "$1" 2> /dev/null; }
passed() { echo "$CHECKS checks passed"; }
# The first allocation of a job that shall run, and whether there is one.
alloc_of() { # JOB
  "$DROVER" job status "$1" | awk '/^Allocations/ { found = 1 } found && / run / { print $1; exit }'
}
has_alloc() { [ -n "$(alloc_of "$1")" ]; }
# True when the output of an allocation's task, or the status of an allocation, has a line like this.
prints() { "$DROVER" alloc logs "$1" | grep -q -- "$2"; }
tells() { "$DROVER" alloc status "$1" | grep -q -- "$2"; }
# The first job file that a page of the documentation shows.
example_of() { awk '/^```hcl/ { inside = 1; next } /^```/ { exit } inside' "$1"; }
# indented_example BEGINNING PAGE: the lines of the page's indented block that begins so, without the indent.
indented_example() { awk -v begin="    $1" 'index($0, begin) == 1 { on = 1 } on && !/^    / { exit } on' "$2" | sed 's/^    //'; }
# once_job NAME SCRIPT BLOCK: runs a job of one task "t" that is not tried again. SCRIPT is the shell's, BLOCK stands in
# the task. ALLOC is its allocation.
once_job() {
  cat > "$1.hcl" << JOB
job "$1" {
  group "g" {
    restart {
      attempts = 0
      mode     = "fail"
    }
    reschedule {
      attempts  = 0
      unlimited = false
    }
    task "t" {
      driver = "raw_exec"
      config {
        command = "/bin/sh"
        args    = ["-c", "$2"]
      }
      $3
    }
  }
}
JOB
  expect 0 "Job registration successful" "$DROVER" job run -detach "$1.hcl"
  eventually 20 "$1 is not placed" has_alloc "$1"
  ALLOC=$(alloc_of "$1")
}
