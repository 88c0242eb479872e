#!/usr/bin/env bash
# Nomad's own plugin packages, as Go modules, on both sides: a driver and a device plugin written on them run jobs under a
# real agent, and a host written on them drives our drivers. MODULES says which version: go.mod is 1.5.6.
. "$(dirname "$0")/../../integration/lib.sh"
: "${DRIVERS:?names the folder of our drivers programs}" "${PROGRAMS:?names a folder for the Go programs}"
: "${MODULES:=go.mod}"

skip() { echo "skipped: $*"; exit 77; }
command -v go > /dev/null || skip "Go is missing (golang-go)"
mkdir -p "$PROGRAMS"
(cd "$(dirname "$0")" && timeout 900 go build -buildvcs=false -mod=readonly -modfile="$MODULES" -o "$PROGRAMS/" ./...) > "$WORK/go.log" 2>&1 ||
  skip "Nomad's packages cannot be had here: $(tail -n 1 "$WORK/go.log")"

# ---- a host on Nomad's packages, our drivers ----

expect 0 "the driver does what this host expects" "$PROGRAMS/host" "$DRIVERS/mock-plugin" '{}' '{"run_for": "10m"}'
mkdir -m 700 "$WORK/launcher"
expect 0 "the driver does what this host expects" "$PROGRAMS/host" "$DRIVERS/raw_exec-plugin" \
  "{\"enabled\": true, \"launcher_dir\": \"$WORK/launcher\"}" '{"command": "/bin/sleep", "args": ["600"]}'

# ---- plugins on Nomad's packages, our agent ----

mkdir -m 755 "$WORK/plugins"
install -m 755 "$PROGRAMS/driver" "$WORK/plugins/goscript"
install -m 755 "$PROGRAMS/device" "$WORK/plugins/numbers"
config one << CONFIG
plugin_dir = "$WORK/plugins"
plugin "goscript" {
  config {
    greeting = "good morning"
  }
}
plugin "numbers" {
  config {
    unhealthy = "two"
  }
}
CONFIG
cat > "$WORK/web.nomad" << 'JOB'
job "web" {
  group "g" {
    task "t" {
      driver = "goscript"
      config {
        script = "echo $GREETING, $LABEL has $NUMBERS in $NOMAD_TASK_NAME; echo pid $$; i=0; while :; do i=$((i+1)); echo line $i; sleep 0.1; done"
        labels {
          label = "nobody"
        }
      }
      resources {
        cpu    = 20
        memory = 16
        device "acme/number" {
          count = 1
          constraint {
            attribute = "${device.attr.memory}"
            operator  = ">="
            value     = "8 GiB"
          }
        }
      }
    }
  }
}
JOB
says() { local text=$1; shift; "$@" 2>&1 | tee "$WORK/said" | grep -q -- "$text" || { cat "$WORK/said"; return 1; }; }
has_alloc() { ALLOC=$("$DROVER" job status "$1" | awk '/^Allocations/ { found = 1 } found && / (run|stop) / { print $1; exit }'); [ -n "$ALLOC" ]; }
process_of() { pgrep -f "^$1( |$)" | head -n 1; }
replaced() { local now; now=$(process_of "$1") && [ -n "$now" ] && [ "$now" != "$2" ]; }
lines() { "$DROVER" alloc logs "$ALLOC" t | grep -c '^line'; }
more_lines_than() { local now; now=$(lines); echo "$now lines"; [ "$now" -gt "$1" ]; }
task_pid() { "$DROVER" alloc logs "$ALLOC" t | sed -n 's/^pid //p'; }

start one
NODE=$("$DROVER" node status | awk '/ ready$/ { print $1 }')
eventually 20 "the node lacks the driver" says 'goscript' "$DROVER" node status "$NODE"
eventually 20 "the plugin's configuration is not in its attributes" says 'driver.goscript.greeting *= good morning' "$DROVER" node status -verbose "$NODE"
eventually 20 "the devices are not there" says 'acme/number/small' "$DROVER" node status -verbose "$NODE"

expect 0 "" "$DROVER" job run -detach "$WORK/web.nomad"
eventually 20 "no allocation" has_alloc web
eventually 20 "no output" says 'good morning, nobody has one in t' "$DROVER" alloc logs "$ALLOC" t
PID=$(task_pid)

# Two want one device, of which one is unhealthy.
sed 's/job "web"/job "second"/' "$WORK/web.nomad" > "$WORK/second.nomad"
expect 2 "devices: no devices match request" "$DROVER" job run "$WORK/second.nomad"
expect 0 "" "$DROVER" job stop -detach -purge second

# The plugin dies, then the agent: the same task goes on, and is still ours.
before=$(process_of "$WORK/plugins/goscript")
kill -9 "$before"
eventually 20 "the driver is not started again" replaced "$WORK/plugins/goscript" "$before"
eventually 20 "the task is silent after its driver was killed" more_lines_than "$(lines)"
kill -9 "$AGENT"
eventually 20 "the agent does not end" gone "$AGENT"
start one
eventually 20 "the task is silent after the agent was killed" more_lines_than "$(lines)"
[ "$(task_pid)" = "$PID" ] && kill -0 "$PID" || fail "another task runs"
expect 0 "" "$DROVER" alloc signal -s SIGUSR1 "$ALLOC" t
eventually 20 "the task does not end by its signal" gone "$PID"
expect 0 "" "$DROVER" job stop -detach web
eventually 20 "it does not end" says 'Client Status *= \(complete\|failed\)' "$DROVER" alloc status "$ALLOC"
echo "with $(sed -n 's/^\tgithub.com.hashicorp.nomad //p' "$(dirname "$0")/$MODULES")"
passed
