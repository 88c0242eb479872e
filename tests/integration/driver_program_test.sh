#!/usr/bin/env bash
# Drivers that are programs of their own, under a real agent: jobs run through them, and neither the death of the program
# nor that of the agent is the death of a task.
. "$(dirname "$0")/lib.sh"
: "${DRIVERS:?names the folder of the drivers programs}" "${NAP:?names nap-plugin}"

mkdir "$WORK/plugins"
cp "$DRIVERS/mock-plugin" "$DRIVERS/raw_exec-plugin" "$NAP" "$WORK/plugins"
config one << CONFIG
plugin_dir = "$WORK/plugins"
plugin "raw_exec" {
  enabled = false
}
plugin "mock-plugin" {
  args = ["--name", "mock_two"]
}
plugin "raw_exec-plugin" {
  config {
    enabled      = true
    launcher_dir = "$WORK/launcher"
  }
}
CONFIG
# job NAME DRIVER: with the task's config from standard input.
job() {
  {
    printf 'job "%s" {\n  group "g" {\n    task "t" {\n      driver = "%s"\n      config {\n' "$1" "$2"
    cat
    printf '      }\n      resources {\n        cpu    = 20\n        memory = 16\n      }\n    }\n  }\n}\n'
  } > "$WORK/$1.nomad"
}
job said mock_two << 'CONFIG'
        run_for       = "1h"
        stdout_string = "hello from another program"
CONFIG
job wrong mock_two << 'CONFIG'
        run_fro = "1h"
CONFIG
job counts raw_exec << 'CONFIG'
        command = "/bin/sh"
        args    = ["-c", "echo started as $$; i=0; while :; do i=$((i+1)); echo line $i; sleep 0.1; done"]
CONFIG

says() { local text=$1; shift; "$@" 2>&1 | tee "$WORK/said" | grep -q "$text" || { cat "$WORK/said"; return 1; }; }
alloc_of() { "$DROVER" job status "$1" | awk '/^Allocations/ { found = 1 } found && / (run|stop) / { print $1; exit }'; }
has_alloc() { ALLOC=$(alloc_of "$1"); [ -n "$ALLOC" ]; }
# The process that runs FILE.
process_of() {
  local exe
  for exe in /proc/[0-9]*/exe; do
    if [ "$(readlink "$exe" 2> /dev/null)" = "$1" ]; then exe=${exe#/proc/}; echo "${exe%/exe}"; return 0; fi
  done
  return 1
}
replaced() { local now; now=$(process_of "$1") && [ "$now" != "$2" ]; }
log_lines() { "$DROVER" alloc logs "$ALLOC" t | grep -c '^line'; }
more_lines_than() { local now; now=$(log_lines); echo "$now lines"; [ "$now" -gt "$1" ]; }
started_once() { [ "$("$DROVER" alloc logs "$ALLOC" t | grep -c '^started as')" = 1 ]; }

start one
NODE=$("$DROVER" node status | awk '/ ready$/ { print $1 }')
eventually 20 "the node has not both drivers" says 'mock_two.*raw_exec\|raw_exec.*mock_two' "$DROVER" node status "$NODE"

# A task of a driver under another name, its output, and a config that the driver's own schema refuses.
expect 0 "" "$DROVER" job run -detach "$WORK/said.nomad"
eventually 20 "no allocation" has_alloc said
eventually 20 "no output" says 'hello from another program' "$DROVER" alloc logs "$ALLOC" t
expect 0 "" "$DROVER" job stop -detach said
expect 0 "" "$DROVER" job run -detach "$WORK/wrong.nomad"
eventually 20 "no allocation" has_alloc wrong
eventually 20 "the wrong option is not named" says 'run_fro' "$DROVER" alloc status "$ALLOC"

# The example of the author's guide.
sed 's/driver = .*/driver = "nap"/; s/run_fro.*/for = "1s"/; s/"wrong" {/"rest" {\n  type = "batch"/' "$WORK/wrong.nomad" > "$WORK/rest.nomad"
expect 0 "" "$DROVER" job run -detach "$WORK/rest.nomad"
eventually 20 "no allocation" has_alloc rest
eventually 20 "the nap does not end" says 'complete' "$DROVER" alloc status "$ALLOC"

# The program dies while a task runs: the same task goes on, and is still ours.
expect 0 "" "$DROVER" job run -detach "$WORK/counts.nomad"
eventually 20 "no allocation" has_alloc counts
eventually 20 "no output" more_lines_than 3
TASK=$("$DROVER" alloc logs "$ALLOC" t | awk '/^started as/ { print $3 }')
PLUGIN=$(process_of "$WORK/plugins/raw_exec-plugin") || fail "the driver has no process"
BEFORE=$(log_lines)
kill -9 "$PLUGIN"
eventually 20 "no new process of the driver" replaced "$WORK/plugins/raw_exec-plugin" "$PLUGIN"
eventually 20 "the log has stopped with the driver" more_lines_than "$((BEFORE + 10))"
expect 0 "" kill -0 "$TASK"
expect 0 "" started_once
expect 0 "running" "$DROVER" alloc status "$ALLOC"
grep -q 'signal 9 (Killed)' "$WORK/one.log" || fail "the agent's log does not say how the driver ended"

# The agent dies: the next one starts the driver anew, and the task goes on.
PLUGIN=$(process_of "$WORK/plugins/raw_exec-plugin") || fail "the driver has no process"
BEFORE=$(log_lines)
kill -9 "$AGENT"
eventually 5 "the agent still runs" gone "$AGENT"
expect 0 "" kill -0 "$TASK"
start one
eventually 20 "the old process of the driver was left" gone "$PLUGIN"
eventually 20 "the log has stopped with the agent" more_lines_than "$((BEFORE + 10))"
expect 0 "" kill -0 "$TASK"
expect 0 "" started_once

# It can still be stopped, and an orderly end of the agent leaves no process of a driver.
expect 0 "" "$DROVER" job stop -detach counts
eventually 20 "the task was not stopped" gone "$TASK"
kill -TERM "$AGENT"
eventually 20 "the agent does not stop" gone "$AGENT"
expect 1 "" process_of "$WORK/plugins/raw_exec-plugin"
expect 1 "" process_of "$WORK/plugins/mock-plugin"
passed
