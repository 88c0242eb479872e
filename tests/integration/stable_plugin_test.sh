#!/usr/bin/env bash
# A driver in C++ of the stable tier inside the agent: what the file shows and needs, and a job that outlives the agent.
. "$(dirname "$0")/lib.sh"
: "${NAP:?names the folder of nap.so and nap.json}"

# One name out; in, the C library alone. No C++ crosses, and the agent's protobuf meets no second one.
exported=$(nm -D --defined-only "$NAP/nap.so" | awk '$2 ~ /[A-Z]/ { print $3 }')
[ "$exported" = drover_plugin_open ] || fail "nap.so exports: $exported"
needed=$(readelf -d "$NAP/nap.so" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | grep -vE '^(libc|libm|ld-linux[^.]*)\.so' || true)
case $(readelf -d "$NAP/nap.so") in *libasan* | *libtsan*) needed= ;; esac  # what the sanitizers add
[ -z "$needed" ] || fail "nap.so needs: $needed"

mkdir -m 755 "$WORK/plugins"
install -m 755 "$NAP/nap.so" "$WORK/plugins"
install -m 644 "$NAP/nap.json" "$WORK/plugins"
expect 0 "Plugin nap 1.0.0 passes every check" "$DROVER" plugin check "$WORK/plugins/nap.so"

# A manifest that says something else than the file.
mkdir "$WORK/other"
cp "$NAP/nap.so" "$WORK/other"
sed 's/"stable"/"exact"/' "$NAP/nap.json" > "$WORK/other/nap.json"
expect 1 'its note says tier "stable", its manifest says "exact"' "$DROVER" plugin check "$WORK/other/nap.so"
sed 's/task_driver/device/' "$NAP/nap.json" > "$WORK/other/nap.json"
expect 1 'its note says kind "task_driver", its manifest says "device"' "$DROVER" plugin check "$WORK/other/nap.so"

config one << CONFIG
plugin_dir = "$WORK/plugins"
CONFIG
nap_job() {
  cat << JOB
job "$1" {
  type = "batch"
  group "g" {
    task "t" {
      driver = "nap"
      config {
        for = "$2"
      }
      resources {
        cpu    = 20
        memory = 16
      }
    }
  }
}
JOB
}
says() { local text=$1; shift; "$@" 2>&1 | tee "$WORK/said" | grep -q "$text" || { cat "$WORK/said"; return 1; }; }
has_alloc() { ALLOC=$(alloc_of "$1"); [ -n "$ALLOC" ]; }

start one
NODE=$("$DROVER" node status | awk '/ ready$/ { print $1 }')
eventually 20 "the node has no such driver" says 'nap' "$DROVER" node status "$NODE"
expect 0 "Form     = resident" "$DROVER" plugin status nap

nap_job long 1h > "$WORK/long.nomad"
expect 0 "" "$DROVER" job run -detach "$WORK/long.nomad"
eventually 20 "no allocation" has_alloc long
eventually 20 "it does not run" says 'running' "$DROVER" alloc status "$ALLOC"

# Killed over its task, with a call open; the next agent's plugin finds it by its handle.
kill -9 "$AGENT"
eventually 20 "the agent does not end" gone "$AGENT"
start one
eventually 30 "the task is not found again, or the plugin's line is not in the log" \
  grep 'INFO.* plugin: a nap goes on plugin=nap .*task=t' "$WORK/one.log"
eventually 30 "the task does not go on" says 'running' "$DROVER" alloc status "$ALLOC"
! grep -q 'Terminated' "$WORK/said" || fail "the task was lost"
expect 0 "" "$DROVER" job stop -detach long
eventually 20 "it does not end" says 'complete' "$DROVER" alloc status "$ALLOC"

# A job that the schema does not take is refused, and a short one ends by itself.
nap_job wrong 'a while' > "$WORK/wrong.nomad"
expect 0 "" "$DROVER" job run -detach "$WORK/wrong.nomad"
refused() { has_alloc wrong && says 'for' "$DROVER" alloc status "$ALLOC" && grep -q 'Driver Failure\|Failed' "$WORK/said"; }
eventually 20 "the option is not refused" refused
nap_job short 200ms > "$WORK/short.nomad"
expect 0 "" "$DROVER" job run -detach "$WORK/short.nomad"
eventually 20 "no allocation" has_alloc short
eventually 20 "it does not end by itself" says 'Exit Code: 0' "$DROVER" alloc status "$ALLOC"

# Its end is orderly with calls open: events, fingerprint and a wait.
nap_job open 1h > "$WORK/open.nomad"
expect 0 "" "$DROVER" job run -detach "$WORK/open.nomad"
eventually 20 "no allocation" has_alloc open
eventually 20 "it does not run" says 'running' "$DROVER" alloc status "$ALLOC"
kill -TERM "$AGENT"
eventually 20 "the agent does not end" gone "$AGENT"
! grep -q 'does not end its calls' "$WORK/one.log" || fail "the plugin was not released"
passed
