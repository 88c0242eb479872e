#!/usr/bin/env bash
# A driver's program is replaced under a running task: by a good version, by bad ones, by an operator's word and by SIGHUP.
# The task counts into its log all the while, and no number may be missing. And what an operator is told of it.
. "$(dirname "$0")/lib.sh"
: "${DRIVERS:?names the folder of the drivers programs}"

mkdir "$WORK/plugins" "$WORK/versions"
# version NAME COMMAND: a file that is another version of the driver.
version() {
  printf '#!/bin/sh\n# %s\n%s\n' "$1" "$2" > "$WORK/versions/$1"
  chmod 755 "$WORK/versions/$1"
}
# The started program lies beside the original, where it finds its libraries and the launcher.
version one "exec $DRIVERS/raw_exec-plugin"
version two "exec $DRIVERS/raw_exec-plugin"
version three "exec $DRIVERS/raw_exec-plugin"
version exits 'echo "there is no licence" >&2; exit 3'
version other "exec $DRIVERS/mock-plugin"
cp "$WORK/versions/one" "$WORK/plugins/counter"
for name in two exits other; do cp "$WORK/versions/$name" "$WORK/plugins/.$name"; done
config agent << CONFIG
plugin_dir = "$WORK/plugins"
plugin "raw_exec" {
  enabled = false
}
plugin "counter" {
  config {
    enabled      = true
    launcher_dir = "$WORK/launcher"
  }
  limits {
    open_files = 4096
  }
  oom_score = 100
}
CONFIG
cat > "$WORK/counts.nomad" << 'JOB'
job "counts" {
  group "g" {
    task "t" {
      driver = "raw_exec"
      config {
        command = "/bin/sh"
        args    = ["-c", "echo started; i=0; while :; do i=$((i+1)); echo line $i; sleep 0.02; done"]
      }
      resources {
        cpu    = 20
        memory = 16
      }
    }
  }
}
JOB

says() { local text=$1; shift; "$@" 2>&1 | tee "$WORK/said" | grep -q "$text" || { cat "$WORK/said"; return 1; }; }
has_alloc() { ALLOC=$("$DROVER" job status counts | awk '/^Allocations/ { found = 1 } found && / run / { print $1; exit }'); [ -n "$ALLOC" ]; }
last_line() { "$DROVER" alloc logs "$ALLOC" t | awk '/^line/ { last = $2 } END { print last + 0 }'; }
more_lines_than() { local now; now=$(last_line); echo "$now lines"; [ "$now" -gt "$1" ]; }
# Every number from one on, each once.
complete() {
  "$DROVER" alloc logs "$ALLOC" t | awk '
    /^started$/ { ++starts }
    /^line [0-9]+$/ { if ($2 != ++wanted) { print "after " wanted - 1 " comes " $2; bad = 1; exit } }
    END { if (starts != 1) print starts " starts"; exit bad || starts != 1 }'
}
digest() { "$DROVER" plugin status -json counter | awk -F'"' '$2 == "Digest" { print $4; exit }'; }
file_digest() { sha256sum "$1" | cut -d' ' -f1; }
runs() { local now; now=$(digest); echo "digest $now"; [ "$now" = "$(file_digest "$1")" ]; }

start agent
eventually 20 "no driver" says 'raw_exec' "$DROVER" node status -json
expect 0 "" "$DROVER" job run -detach "$WORK/counts.nomad"
eventually 20 "no allocation" has_alloc
eventually 20 "no output" more_lines_than 20

# The plugin's status.
expect 0 "State       = running" "$DROVER" plugin status counter
expect 0 "Descriptors = " "$DROVER" plugin status -verbose raw_exec
expect 0 " of 4096" "$DROVER" plugin status counter
expect 0 "/t/" "$DROVER" plugin status counter
expect 0 "counter" "$DROVER" plugin status
expect 0 "Tier     = exact" "$DROVER" plugin status jobs
NODE=$("$DROVER" node status | awk '/ ready$/ { print $1 }')
expect 0 "counter" "$DROVER" plugin status -node "$NODE"
expect 1 'this node has no plugin "nothing"' "$DROVER" plugin status nothing

# An operator restarts it, and upgrades it.
expect 0 'runs again' "$DROVER" plugin restart counter
eventually 20 "the log has stopped" more_lines_than "$(($(last_line) + 20))"
expect 0 "1 tasks were handed over" "$DROVER" plugin upgrade counter "$WORK/plugins/.two"
runs "$WORK/versions/two" || fail "another version runs"
cmp -s "$WORK/versions/two" "$WORK/plugins/counter" || fail "the new version is not in its place"
eventually 20 "the log has stopped" more_lines_than "$(($(last_line) + 20))"

# Bad versions are not taken, and change nothing.
expect 1 "there is no licence" "$DROVER" plugin upgrade counter "$WORK/plugins/.exits"
expect 1 "was called raw_exec and is now called mock_driver" "$DROVER" plugin upgrade counter "$WORK/plugins/.other"
expect 1 "is the version that runs already" "$DROVER" plugin upgrade counter
expect 1 "No such file" "$DROVER" plugin upgrade counter "$WORK/plugins/.nothing"
expect 1 "must lie in the plugin's own folder" "$DROVER" plugin upgrade counter "$WORK/versions/two"
runs "$WORK/versions/two" || fail "another version runs"
cmp -s "$WORK/versions/two" "$WORK/plugins/counter" || fail "a bad version is in its place"
expect 0 "State        = refused" "$DROVER" plugin status counter

# A replaced file and SIGHUP do the same.
cp "$WORK/versions/three" "$WORK/plugins/.new" && mv "$WORK/plugins/.new" "$WORK/plugins/counter"
kill -HUP "$AGENT"
eventually 30 "the new file is not taken" runs "$WORK/versions/three"
eventually 20 "the log has stopped" more_lines_than "$(($(last_line) + 20))"
grep -q 'plugin was upgraded' "$WORK/agent.log" || fail "the agent's log does not tell of it"

expect 0 "" complete
expect 0 "running" "$DROVER" alloc status "$ALLOC"
expect 0 "" "$DROVER" job stop -detach counts
# In order, or the plugin's program would stay: it runs by another path than this test's.
kill -TERM "$AGENT"
eventually 20 "the agent does not end" gone "$AGENT"
passed
