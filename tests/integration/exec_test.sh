#!/usr/bin/env bash
# Commands inside tasks, and what drivers tell of theirs, under a real agent: a driver inside it and one that is a program
# of its own, over TLS.
. "$(dirname "$0")/lib.sh"
: "${DRIVERS:?names the folder of the drivers programs}"

mkdir "$WORK/plugins"
cp "$DRIVERS/mock-plugin" "$WORK/plugins"
config one << CONFIG
plugin_dir = "$WORK/plugins"
$RAW_EXEC
plugin "mock-plugin" {
  args      = ["--name", "mock_two"]
  auto_mtls = true
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
job shell raw_exec << 'CONFIG'
        command = "/bin/sh"
        args    = ["-c", "while :; do sleep 1; done"]
CONFIG
job told mock_two << 'CONFIG'
        run_for = "1h"
        events  = ["image pulled", "layers joined"]
        exec_command {
          stdout_string = "as it was told"
          exit_code     = 9
        }
CONFIG
runs() { ALLOC=$(alloc_of "$1") && [ -n "$ALLOC" ] && "$DROVER" alloc status "$ALLOC" | grep -q 'is "running"'; }
shows() { "$DROVER" alloc status "$ALLOC" | grep -q "$1"; }
# run EXPECTED-CODE COMMAND…: its output is in OUT.
run() {
  local code=0
  CHECKS=$((CHECKS + 1))
  OUT=$(timeout 30 "$DROVER" alloc exec "${@:2}" 2> "$WORK/errors") || code=$?
  [ "$code" = "$1" ] || fail "exit code $code and not $1 of: ${*:2}: $OUT $(cat "$WORK/errors")"
}

start one
expect 0 "" "$DROVER" job run -detach "$WORK/shell.nomad"
eventually 30 "the task does not run" runs shell

# Output, errors, exit code; in the task's folder, environment and control group.
run 0 "$ALLOC" /bin/sh -c 'echo out; echo err >&2; echo $NOMAD_TASK_NAME; basename "$PWD"'
[ "$OUT" = "$(printf 'out\nt\nt')" ] || fail "it says: $OUT"
grep -q '^err$' "$WORK/errors" || fail "its errors: $(cat "$WORK/errors")"
run 7 "$ALLOC" /bin/sh -c 'exit 7'
run 143 "$ALLOC" /bin/sh -c 'kill -TERM $$'
run 1 "$ALLOC" /no/such/program
grep -q 'no/such/program' "$WORK/errors" || fail "its errors: $(cat "$WORK/errors")"

# Input, and its end; options of the command are the command's.
seq 1 20000 > "$WORK/numbers"
run 0 -task t "$ALLOC" sort -n -r < "$WORK/numbers"
[ "$OUT" = "$(sort -n -r "$WORK/numbers")" ] || fail "the numbers are not sorted"
run 0 -i=false "$ALLOC" cat
run 0 -job shell echo by its job
[ "$OUT" = "by its job" ] || fail "it says: $OUT"

# A terminal; and one at this end, which is left by ~. and is as it was.
run 0 -t "$ALLOC" /bin/sh -c 'test -t 0 && test -t 1 && tty' < /dev/null
case $OUT in /dev/pts/*) ;; *) fail "no terminal: $OUT" ;; esac
if command -v script > /dev/null; then
  printf 'stty size; exit 6\r' | timeout 30 script -qec "stty rows 33 cols 99; '$DROVER' exec $ALLOC /bin/sh; echo code \$?; stty -a" /dev/null > "$WORK/terminal" || true
  grep -q '33 99' "$WORK/terminal" || fail "the size of the terminal: $(cat "$WORK/terminal")"
  grep -q 'code 6' "$WORK/terminal" || fail "the exit code: $(cat "$WORK/terminal")"
  grep -q ' icanon.* echo\b\|[^-]icanon' "$WORK/terminal" || fail "the terminal is not as it was: $(cat "$WORK/terminal")"
fi

# The task's end is its commands' end.
timeout 60 "$DROVER" alloc exec "$ALLOC" /bin/sh -c 'echo begun; exec sleep 1000' > "$WORK/long" 2>&1 &
LONG=$!
begun() { grep -q begun "$WORK/long"; }
eventually 20 "the command does not begin" begun
expect 0 "" "$DROVER" job stop -detach shell
wait $LONG && fail "a command that was killed has exit code 0"

# A program of its own, over TLS: its commands, its events.
expect 0 "" "$DROVER" job run -detach "$WORK/told.nomad"
eventually 30 "the task does not run" runs told
run 9 "$ALLOC" whatever
[ "$OUT" = "as it was told" ] || fail "it says: $OUT"
OUT=$(echo some input | "$DROVER" exec "$ALLOC" showinput)
case $OUT in *"some input"*) ;; *) fail "the input: $OUT" ;; esac
eventually 20 "the driver's events are not shown" shows 'Driver .*layers joined'
expect 0 "" "$DROVER" job stop -detach told
passed
