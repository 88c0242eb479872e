#!/usr/bin/env bash
# A driver in plain C inside the agent, over the stable ABI: it is checked, loaded, asked, logged for, and released.
. "$(dirname "$0")/lib.sh"
: "${HELLO_C:?names the folder of hello_c.so and hello_c.json}"

case $(od -An -tx1 -j18 -N1 "$HELLO_C/hello_c.so") in
  *3e) [ "$(uname -m)" = x86_64 ] || { echo "skipped: $HELLO_C/hello_c.so is built for x86-64"; exit 77; } ;;
esac
mkdir -m 755 "$WORK/plugins"
install -m 755 "$HELLO_C/hello_c.so" "$WORK/plugins"
install -m 644 "$HELLO_C/hello_c.json" "$WORK/plugins"
expect 0 "Plugin hello_c 1.0.0 passes every check" "$DROVER" plugin check "$WORK/plugins/hello_c.so"

# A grant that names no method is an error at the start.
config wrong << CONFIG
plugin_dir = "$WORK/plugins"
plugin "hello_c" {
  grants = ["drover.v1.Nodes/Lst"]
}
CONFIG
expect 1 'plugin "hello_c": grants: there is no method "drover.v1.Nodes/Lst"; did you mean "drover.v1.Nodes/List"?' \
  "$DROVER" agent -config "$WORK/wrong.hcl"

config one << CONFIG
plugin_dir = "$WORK/plugins"
plugin "hello_c" {
  grants = ["drover.v1.PluginHost/Log", "drover.v1.Nodes/List"]
  limits {
    open_files = 100
  }
}
CONFIG
cat > "$WORK/greet.nomad" << 'JOB'
job "greet" {
  group "g" {
    task "t" {
      driver = "hello_c"
      resources {
        cpu    = 20
        memory = 16
      }
    }
  }
}
JOB
says() { local text=$1; shift; "$@" 2>&1 | tee "$WORK/said" | grep -q "$text" || { cat "$WORK/said"; return 1; }; }
has_alloc() { ALLOC=$("$DROVER" job status greet | awk '/^Allocations/ { found = 1 } found && / run / { print $1; exit }'); [ -n "$ALLOC" ]; }

start one
NODE=$("$DROVER" node status | awk '/ ready$/ { print $1 }')
eventually 20 "the node has no such driver" says 'hello_c' "$DROVER" node status "$NODE"
grep -q 'the driver in C is here' "$WORK/one.log" || fail "the plugin's line is not in the log"

grep -q 'an option has no effect on a plugin inside the agent.*limits' "$WORK/one.log" || fail "an option is ignored in silence"

# The plugin's rights, and the actions that nobody may take on it.
expect 0 "Form     = resident" "$DROVER" plugin status hello_c
granted() { "$DROVER" plugin status hello_c | grep -q "^$1  *yes  *$2\$"; }
expect 0 "" granted drover.v1.PluginHost/Log 1
expect 0 "" granted drover.v1.Nodes/List 0
expect 1 "code is never unloaded: replace its file and restart the agent" "$DROVER" plugin upgrade hello_c
expect 1 "code is never unloaded: restart the agent" "$DROVER" plugin restart hello_c

expect 0 "" "$DROVER" job run -detach "$WORK/greet.nomad"
eventually 20 "no allocation" has_alloc
eventually 20 "no output" says 'hello from C' "$DROVER" alloc logs "$ALLOC" t
eventually 20 "it does not run" says 'running' "$DROVER" alloc status "$ALLOC"
expect 0 "" "$DROVER" job stop -detach greet
eventually 20 "it does not end" says 'complete' "$DROVER" alloc status "$ALLOC"

# A task's config that the driver does not take.
sed 's/driver = "hello_c"/driver = "hello_c"\n      config {\n        shout = true\n      }/; s/"greet"/"shout"/' "$WORK/greet.nomad" > "$WORK/shout.nomad"
expect 0 "" "$DROVER" job run -detach "$WORK/shout.nomad"
shouted() { "$DROVER" job status shout | awk '/^Allocations/ { found = 1 } found && / (run|stop) / { print $1; exit }'; }
refused() { local alloc; alloc=$(shouted); [ -n "$alloc" ] && says 'takes no configuration' "$DROVER" alloc status "$alloc"; }
eventually 20 "the option is not refused" refused

# Its end is orderly: every call is answered, and the plugin released.
kill -TERM "$AGENT"
eventually 20 "the agent does not end" gone "$AGENT"
! grep -q 'does not end its calls' "$WORK/one.log" || fail "the plugin was not released"
passed
