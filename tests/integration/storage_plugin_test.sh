#!/usr/bin/env bash
# Storage plugins under test: the commands of docs/plugin-author/csi.md over drover-csi-hostpath (HOSTPATH), what a failure
# and a wrong use look like, and that nothing is left on the machine. KIT is drover-csi-test.
. "$(dirname "$0")/lib.sh"
PAGE=$(realpath "$(dirname "$0")/../../docs/plugin-author/csi.md")
[ "$(id -u)" -eq 0 ] || { echo "skipped: mounting volumes takes root" >&2; exit 77; }
cd "$WORK" || exit 1
drover() { "$DROVER" "$@"; }
mounts() { awk -v work="$WORK/" 'index($5, work) == 1 { print $5 }' /proc/self/mountinfo; }
mkdir "$WORK/tmp"
export TMPDIR=$WORK/tmp  # of the kit's folders

# --- the page's commands, each with a folder of its own
number=0
while read -r command; do
  number=$((number + 1))
  ran=$(sed "s,/usr/lib/drover/csi/drover-csi-hostpath,$HOSTPATH,; s,/srv/volumes,$WORK/volumes-$number," <<< "$command")
  # shellcheck disable=SC2086  # words of the page, without quotes
  expect 0 "passed" $ran
done < <(sed -n 's/^    # \(drover plugin test .*\)/\1/p' "$PAGE")
[ "$number" -eq 3 ] || fail "the page has $number commands, not 3"
example_of "$PAGE" > acme.hcl
expect 0 "" drover fmt -check acme.hcl

# --- the same program, without drover
ARGUMENTS=(--node-id one --data-dir "$WORK/volumes")
expect 0 "8 passed, 0 failed" "$KIT" -run identity. "$HOSTPATH" -- "${ARGUMENTS[@]}"
expect 0 "183 checks" "$KIT" -list
expect 0 "1 checks" drover plugin test -kind csi -list -run stage.unstages
expect 0 "-existing-volume" drover plugin test -kind csi -help
expect 0 "-kind csi" drover plugin test -help

# --- one that runs already is not killed
"$HOSTPATH" --endpoint "unix://$WORK/running.sock" "${ARGUMENTS[@]}" > running.log 2>&1 &
AGENTS+=($!)
eventually 10 "the plugin makes no socket" test -S running.sock
expect 2 "9 left out: the plugin was not started here (-endpoint)" "$KIT" -endpoint "unix://$WORK/running.sock" -run restart.
expect 0 "13 passed, 0 failed" "$KIT" -endpoint "unix://$WORK/running.sock" -run publish-table.
kill -0 "${AGENTS[-1]}" || fail "the plugin that ran already was ended"

# --- a failure says what was asked, what came, and the rule, and a secret is in none of it
echo '{"password": "lovelace"}' > secrets.json
expect 1 "CreateVolume: parameters: there is only \"permissions\"" "$KIT" -param color=red -secrets secrets.json -run volumes.create "$HOSTPATH" -- "${ARGUMENTS[@]}"
"$KIT" -param color=red -secrets secrets.json -run volumes. "$HOSTPATH" -- "${ARGUMENTS[@]}" > failed.txt
for line in 'asked:    CreateVolume {' 'came:     invalid_argument' 'found: ' 'contract: volume_id is required' 'alone:    -run volumes.create'; do
  grep -qF -- "$line" failed.txt || fail "a failure does not say \"$line\": $(cat failed.txt)"
done
! grep -q lovelace failed.txt || fail "a secret is told: $(cat failed.txt)"

# --- what cannot be tried
expect 2 "the program has ended; it ended: exit code 2; it said: drover-csi-hostpath: --data-dir: is missing" "$KIT" "$HOSTPATH" --node-id one
expect 2 "Error: /no/such/plugin: there is no such file" drover plugin test -kind csi /no/such/plugin
expect 2 "unknown option -jsn" drover plugin test -kind csi -jsn "$HOSTPATH"
expect 2 "only \"csi\" is said" drover plugin test -kind driver "$HOSTPATH"

# --- one that is interrupted cleans up first
"$KIT" "$HOSTPATH" -- --node-id one --data-dir "$WORK/interrupted" > interrupted.txt 2>&1 &
KIT_PID=$!
eventually 20 "no group is over" grep -q passed interrupted.txt
kill -TERM "$KIT_PID"
wait "$KIT_PID"
[ $? -eq 2 ] || fail "an interrupted test ends otherwise: $(cat interrupted.txt)"
grep -q 'Error: interrupted after [0-9]* checks' interrupted.txt || fail "it does not say that it was interrupted: $(cat interrupted.txt)"
gone_for_good() { ! grep -zqs -- "$WORK/interrupte[d]" /proc/[0-9]*/cmdline; }  # but not this grep
eventually 10 "its plugin still runs" gone_for_good

# --- nothing is left
[ -z "$(mounts)" ] || fail "mounts are left: $(mounts)"
[ -z "$(ls -A "$WORK/tmp")" ] || fail "folders are left: $(ls "$WORK/tmp")"
echo "$CHECKS checks passed"
