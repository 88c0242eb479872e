#!/usr/bin/env bash
# Variables on a real agent: the page docs/operator/variables.md, its job, what is refused, and where secrets are not.
. "$(dirname "$0")/lib.sh"
PAGE=$(realpath "$(dirname "$0")/../../docs/operator/variables.md")

config one <<< "$RAW_EXEC"
start one
cd "$WORK" || exit 1
drover() { "$DROVER" "$@"; }
has_key() { "$DROVER" operator root keyring list | grep -q active; }
eventually 20 "no root key" has_key

# --- the page's commands, in their order
while read -r line; do
  CHECKS=$((CHECKS + 1))
  eval "$line" > page.out 2>&1 < /dev/null || fail "$line: $(cat page.out)"
done < <(sed -n 's/^    \$ \(drover .*\)/\1/p' "$PAGE")
expect 0 "battery-staple" "$DROVER" var get nomad/jobs/web
expect 0 "rekeying" grep rekeying "$PAGE"
all_is_resealed() { [ "$("$DROVER" operator root keyring list | grep -c rekeying)" = 0 ]; }
eventually 20 "a key is still being emptied" all_is_resealed

# --- forms and texts
expect 1 "Variable not found" "$DROVER" var get absent
expect 1 "does not contain \"x\"" "$DROVER" var get -item=x nomad/jobs/web
expect 1 "Check-and-Set conflict" "$DROVER" var put nomad/jobs/web user=x
expect 1 "invalid path" "$DROVER" var put "a b" k=v
expect 1 "only paths at" "$DROVER" var put nomad/other k=v
expect 1 "missing required Items" "$DROVER" var put empty
expect 0 "No matching variables found" "$DROVER" var list -out=table absent
expect 0 "default|" "$DROVER" var list -out=terse -namespace='*'
expect 0 "web" "$DROVER" var get -template='{{ .Items.user }}' nomad/jobs/web
expect 0 "Example variable specification written to spec.nv.json" "$DROVER" var init -out=json
expect 0 'Created variable "path/to/variable"' "$DROVER" var put -out=none @spec.nv.json
echo '{"Items": {"k": "from-stdin"}}' | "$DROVER" var put -out=none -in=json in/put - > put.out || fail "$(cat put.out)"
expect 0 "from-stdin" "$DROVER" var get in/put
expect 0 "Successfully purged variable" "$DROVER" var purge in/put
status() { curl -s -o body -w '%{http_code}' "$@"; } # CURL ARGUMENTS
[ "$(status -X PUT "$NOMAD_ADDR/v1/var/api?cas=0" -d '{"Items": {"k": "v"}}')" = 200 ] || fail "put: $(cat body)"
[ "$(status -X PUT "$NOMAD_ADDR/v1/var/api?cas=0" -d '{"Items": {"k": "w"}}')" = 409 ] || fail "conflict: $(cat body)"
grep -q '"Items":{"k":"v"}' body || fail "the conflict does not show what is there: $(cat body)"
[ "$(status -X PUT "$NOMAD_ADDR/v1/var/api?cas=x" -d '{"Items": {"k": "w"}}')" = 400 ] || fail "cas: $(cat body)"
[ "$(status -X DELETE "$NOMAD_ADDR/v1/var/api")" = 204 ] || fail "delete: $(cat body)"
[ "$(status "$NOMAD_ADDR/v1/var/api")" = 404 ] || fail "get: $(cat body)"
expect 0 "[]" curl -s "$NOMAD_ADDR/v1/vars?prefix=absent"

# --- a lock: the command runs, its exit code counts, and others wait
expect 7 "" "$DROVER" var lock locks/a exit 7
"$DROVER" var lock locks/b "touch held; until [ -e end ]; do sleep 0.05; done" &
lock=$!
eventually 10 "the lock is not held" test -e held
expect 1 "409" "$DROVER" var lock -max-retry=1 locks/b true
expect 1 "attempting to modify locked variable" "$DROVER" var put -force locks/b k=v
touch end
wait "$lock" || fail "the holder failed"
expect 0 "" "$DROVER" var lock -max-retry=1 locks/b true

# --- the page's job reads its variable, and follows it
example_of "$PAGE" > web.hcl
expect 0 "Job registration successful" "$DROVER" job run -detach web.hcl
eventually 20 "web is not placed" has_alloc web
alloc=$(alloc_of web)
eventually 20 "the template was not written" prints "$alloc" "login web 14"
expect 0 "" "$DROVER" var put -force -out=none nomad/jobs/web user=other password=tr0ub4dor
eventually 20 "the change was not seen" prints "$alloc" "login other 9"

# --- an agent that was killed finds what changed, and everything else
kill -9 "$AGENT"
eventually 10 "the agent lives" gone "$AGENT"
start one
expect 0 "tr0ub4dor" "$DROVER" var get nomad/jobs/web
expect 0 "" "$DROVER" var put -force -out=none nomad/jobs/web user=third password=1234
eventually 30 "the change after the restart was not seen" prints "$alloc" "login third 4"
expect 0 "" "$DROVER" job stop -purge -detach web

# --- a task waits for its variable, and does not read those of others
once_job late 'cat local/out; exec sleep 1000' 'template {
        destination = "local/out"
        data        = "{{ with nomadVar \"nomad/jobs/late/g/t\" }}got {{ .k }}\n{{ end }}"
      }'
eventually 20 "the task does not say for what it waits" tells "$ALLOC" "Missing: nomad.var.block(nomad/jobs/late/g/t)"
expect 0 "" "$DROVER" var put -out=none nomad/jobs/late/g/t k=it
eventually 20 "the task does not start" prints "$ALLOC" "got it"
expect 0 "" "$DROVER" job stop -purge -detach late
expect 0 "" "$DROVER" var put -out=none shared/greeting k=hello
once_job guest 'cat local/out; exec sleep 1000' 'template {
        destination = "local/out"
        data        = "{{ with nomadVar \"shared/greeting\" }}{{ .k }} from all{{ end }}"
      }'
eventually 20 "without access control a task reads every variable" prints "$ALLOC" "hello from all"
expect 0 "" "$DROVER" job stop -purge -detach guest

# --- no secret lies anywhere but in the secrets of tasks
MARK=marker-$RANDOM$RANDOM-secret
expect 0 "" "$DROVER" var put -out=none hidden/one "value=$MARK"
expect 0 "" "$DROVER" operator snapshot save "$WORK/state.snap"
expect 0 "hidden/one" "$DROVER" var list -out=terse hidden
! "$DROVER" var list hidden | grep -q "$MARK" || fail "a list shows a value"
! grep -rlq "$MARK" "$WORK/one-data" "$WORK/one.log" "$WORK/state.snap" || fail "a secret lies in $(grep -rl "$MARK" "$WORK/one-data" "$WORK/one.log")"
zcat "$WORK/state.snap" 2> /dev/null | grep -aq "$MARK" && fail "a snapshot shows a secret"

# --- keys: what is active or in use stays; a damaged file is named
active=$("$DROVER" operator root keyring list -verbose | awk '$2 == "active" { print $1 }')
expect 1 "active root key cannot be deleted - call rotate first" "$DROVER" operator root keyring remove "$active"
expect 0 "" "$DROVER" operator root keyring rotate
expect 1 "is in use by" "$DROVER" operator root keyring remove "$active"
[ "$(stat -c %a one-data/server/keystore "one-data/server/keystore/$active.nks.json" one-data/server/keyring.kek | tr '\n' ' ')" = "700 600 600 " ] || fail "modes"
kill -9 "$AGENT"
eventually 10 "the agent lives" gone "$AGENT"
cp "one-data/server/keystore/$active.nks.json" saved
echo broken > "one-data/server/keystore/$active.nks.json"
expect 1 "$active.nks.json cannot be used; bring the file back from a backup" "$DROVER" agent -config one.hcl
# --- without the file: a clear error, and new variables after all
rm "one-data/server/keystore/$active.nks.json"
start one
expect 1 "no such key \"$active\" in keyring" "$DROVER" var get hidden/one
expect 0 "" "$DROVER" operator root keyring rotate
expect 0 "Created variable" "$DROVER" var put -out=none after k=v
kill -9 "$AGENT"
eventually 10 "the agent lives" gone "$AGENT"
cp saved "one-data/server/keystore/$active.nks.json"
start one
expect 0 "$MARK" "$DROVER" var get hidden/one
passed
