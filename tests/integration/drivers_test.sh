#!/usr/bin/env bash
# The drivers of docs/operator/drivers.md under a real agent: the page's own job and output; what a task finds; and the
# driver as a program of its own before the conformance kit.
. "$(dirname "$0")/lib.sh"
: "${DRIVERS:?names the folder of the drivers programs}"
[ "$(id -u)" = 0 ] || { echo "missing: root"; exit 77; }
# Tasks that are locked in know nothing of $WORK, and what the agent shows in their folders stays until it removes them.
let_go() {
  local alloc path
  for alloc in "$WORK"/*-data/alloc/*; do
    grep -l "^NOMAD_ALLOC_ID=${alloc##*/}" -z /proc/[0-9]*/environ 2> /dev/null | sed 's|/proc/||; s|/environ||' | xargs -r kill -9 2> /dev/null
  done
  awk -v work="$WORK" 'index($2, work) == 1 { print $2 }' /proc/self/mounts | while read -r path; do umount "$path"; done
}
trap '[ -n "${KEEP_WORK:-}" ] || let_go; clean_up' EXIT
PAGE=$(dirname "$0")/../../docs/operator/drivers.md

# A root of a few programs: the whole of the machine takes its time.
chroot_env() {
  local program file
  for program in sh sleep id ls cat grep; do
    file=$(command -v "$program")
    echo "    \"$file\" = \"/bin/$program\""
    ldd "$file" | grep -o '/[^ ]*' | sed 's/.*/    "&" = "&"/'
  done | sort -u
  printf '    "/etc/passwd" = "/etc/passwd"\n    "/etc/group" = "/etc/group"\n'
}
config one < <(printf 'client {\n  chroot_env = {\n'; chroot_env; printf '  }\n}\n')
section() { indented_example "$*" "$PAGE"; }
runs() { ALLOC=$(alloc_of "$1") && [ -n "$ALLOC" ] && "$DROVER" alloc status "$ALLOC" | grep -q 'is "running"'; }
says() { local text=$1; shift; "$@" 2>&1 | tee "$WORK/said" | grep -q "$text" || { cat "$WORK/said"; return 1; }; }
first_lines() { "$DROVER" alloc logs -job "$1" | head -n "$2"; }

start one
NODE=$("$DROVER" node status | awk '/ ready$/ { print $1 }')
eventually 20 "the node has no healthy driver exec" says 'exec' "$DROVER" node status "$NODE"

# The page's job, with the output that the page shows.
section 'job "confined"' > "$WORK/confined.hcl"
section '$ drover alloc logs' | sed 1d > "$WORK/expected"
[ "$(wc -l < "$WORK/expected")" -ge 10 ] || fail "the page shows no output: $(cat "$WORK/expected")"
expect 0 "" "$DROVER" job run -detach "$WORK/confined.hcl"
eventually 60 "the page's job does not run" runs confined
CONFINED=$ALLOC
shown() { [ "$(first_lines confined "$(wc -l < "$WORK/expected")")" = "$(cat "$WORK/expected")" ] || { first_lines confined 20; return 1; }; }
eventually 20 "the output is not that of the page" shown

# Commands beside it are as locked in, on a terminal of the task's own.
OUT=$("$DROVER" alloc exec "$ALLOC" /bin/sh -c 'grep -E "^(Uid|NoNewPrivs|Seccomp):" /proc/self/status; echo "$NOMAD_SECRETS_DIR"; cat /proc/1/status | grep Name') ||
  fail "the command: $OUT"
[ "$OUT" = "$(printf 'Uid:\t65534\t65534\t65534\t65534\nNoNewPrivs:\t1\nSeccomp:\t2\n/secrets\nName:\tsh')" ] || fail "it says: $OUT"
expect 0 "" "$DROVER" alloc exec "$ALLOC" /bin/sh -c 'echo kept > /alloc/data/file && echo kept > /secrets/file && echo kept > /local/file'
BEFORE=$(first_lines confined 2)

# The agent dies: the task goes on, and commands still find it.
kill -9 "$AGENT"
eventually 5 "the agent still runs" gone "$AGENT"
start one
eventually 30 "the task was not found again" runs confined
expect 0 "kept" "$DROVER" alloc exec "$ALLOC" cat /alloc/data/file
[ "$(first_lines confined 2)" = "$BEFORE" ] || fail "the task was started anew"

# A job that wants what it may not have is told so, and one that asks too much memory that this was the cause.
sed 's/"confined"/"greedy"/; s/args .*/cap_add = ["sys_admin"]/' "$WORK/confined.hcl" > "$WORK/greedy.hcl"
expect 0 "" "$DROVER" job run -detach "$WORK/greedy.hcl"
refused() { local alloc; alloc=$("$DROVER" job status greedy | awk '/^Allocations/ { found = 1 } found && / (run|stop) / { print $1; exit }'); says 'does not allow the following capabilities: sys_admin' "$DROVER" alloc status "$alloc"; }
eventually 30 "the refused capability is not named" refused
expect 0 "" "$DROVER" job stop -detach greedy

# Files that the agent laid there may be the machine's own: root itself cannot write it. (This would change nothing.)
sed 's/"confined" {/"rooted" {\n  type = "batch"/; s/driver .*/driver = "exec"\n      user = "root"/; s|args .*|args = ["-c", "id -u; (: >> /bin/cat); : > /local/own \&\& echo its own"]|' \
  "$WORK/confined.hcl" > "$WORK/rooted.hcl"
expect 0 "" "$DROVER" job run -detach "$WORK/rooted.hcl"
ended() { ALLOC=$("$DROVER" job status rooted | awk '/^Allocations/ { found = 1 } found && / complete / { print $1; exit }') && [ -n "$ALLOC" ]; }
eventually 30 "the job of root does not end" ended
expect 0 "Read-only file system" "$DROVER" alloc logs -stderr "$ALLOC" t
expect 0 "$(printf '0\nits own')" "$DROVER" alloc logs "$ALLOC" t

# Stopped, it leaves no process and no control group.
unused() { ! grep -l -z "^NOMAD_ALLOC_ID=$CONFINED" /proc/[0-9]*/environ 2> /dev/null && ! ls -d /sys/fs/cgroup/*/drover/"$CONFINED"* 2> /dev/null; }
grep -q -z "^NOMAD_ALLOC_ID=$CONFINED" /proc/[0-9]*/environ 2> /dev/null || fail "the task does not run any more"
expect 0 "" "$DROVER" job stop -detach confined
eventually 30 "something of the task is left" unused

# The same driver as a program: the whole kit.
printf 'launcher_dir = "%s"\n' "$WORK/kit-launcher" > "$WORK/kit.hcl"
expect 0 ", 0 failed" timeout 170 "$DROVER" plugin test -sdk -config "$WORK/kit.hcl" "$DRIVERS/exec-plugin"
passed
