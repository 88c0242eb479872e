#!/usr/bin/env bash
# The event stream of a real agent: what a job's life tells, where a reader begins, who may read, and how streams end.
. "$(dirname "$0")/lib.sh"

config one << CONFIG
$RAW_EXEC
server {
  event_buffer_size = 40
}
acl {
  enabled = true
}
CONFIG
run_agent one
cd "$WORK" || exit 1
eventually 20 "no leader" "$DROVER" operator api /v1/status/leader
"$DROVER" acl bootstrap > boot || fail "no bootstrap: $(cat boot)"
ROOT=$(field "Secret ID" < boot)
export NOMAD_TOKEN=$ROOT
let_readers() { # POLICY
  printf 'namespace "default" {\n  policy = "%s"\n}\n' "$1" > readers.hcl
  expect 0 "Successfully wrote" "$DROVER" acl policy apply readers readers.hcl
}
let_readers read
"$DROVER" acl token create -name reader -policy readers > made || fail "$(cat made)"
READER=$(field "Secret ID" < made) READER_ID=$(field "Accessor ID" < made)

# follow FILE TOKEN QUERY: until the stream ends; then FILE.ended is there.
follow() { (curl -sN -H "X-Nomad-Token: $2" "$NOMAD_ADDR/v1/event/stream?$3" > "$1"; touch "$1.ended") & }
status_of() { curl -s -o answer -w '%{http_code}' -m 5 -H "X-Nomad-Token: $1" "$NOMAD_ADDR/v1/event/stream?$2"; }
has() { grep -q -- "$2" "$1"; }
last_index() { tail -n 1 "$1" | grep -o '^{"Index":[0-9]*' | cut -d: -f2; }

follow all "$ROOT" "after=latest"
follow job "$READER" "topic=Job&topic=Allocation:web&after=latest"
eventually 5 "the stream does not begin" has all '^{}$'
eventually 5 "the stream does not begin" has job '^{}$'
cat > web.hcl << 'JOB'
job "web" {
  group "g" {
    task "t" {
      driver = "raw_exec"
      config {
        command = "sleep"
        args    = ["1000"]
      }
    }
  }
}
JOB
expect 0 "" "$DROVER" job run -detach web.hcl
eventually 20 "no registration" has job '"Topic":"Job","Type":"JobRegistered","Key":"web","Namespace":"default"'
eventually 20 "no placement" has job '"Topic":"Allocation","Type":"PlanResult".*"FilterKeys":\["web"'
eventually 20 "no report" has job '"Topic":"Allocation","Type":"AllocationUpdated".*"ClientStatus":"running"'
eventually 5 "no evaluation" has all '"Topic":"Evaluation","Type":"JobRegistered"'
! has job '"Topic":"Evaluation"' || fail "a topic that was not asked for comes"
grep -v '^{}$' job | python3 -c 'import json, sys
for line in sys.stdin: assert json.loads(line)["Events"], line' || fail "a line is no event"

# From an index on, exactly.
SEEN=$(last_index job)
expect 0 "" "$DROVER" job stop -detach web
follow rest "$READER" "topic=Job&topic=Allocation:web&after=$SEEN"
eventually 20 "no stop" has job '"Type":"JobDeregistered"'
eventually 20 "no stop for who came later" has rest '"Type":"JobDeregistered"'
[ "$(grep '"Type":"JobDeregistered","Key":"web"' job)" = "$(grep '"Type":"JobDeregistered","Key":"web"' rest)" ] || fail "two readers read different lines"
[ "$(sed '/^{}$/d' rest | grep -o '^{"Index":[0-9]*' | cut -d: -f2 | head -n 1)" -gt "$SEEN" ] || fail "an event comes twice"
[ "$(status_of "$ROOT" 'after=1')" = 410 ] || fail "a gap is not told: $(cat answer)"
grep -q "are not held any more" answer || fail "a gap is not told: $(cat answer)"

# Bad requests, and who may not.
[ "$(status_of "$ROOT" 'topic=Job:a:b')" = 400 ] || fail "$(cat answer)"
[ "$(status_of "$ROOT" 'index=soon')" = 400 ] || fail "$(cat answer)"
[ "$(status_of "$ROOT" 'after=soon')" = 400 ] || fail "$(cat answer)"
for query in '' 'topic=Node' 'topic=ACLToken' 'topic=*' 'topic=Job&namespace=other'; do
  [ "$(status_of "$READER" "$query")" = 403 ] || fail "'$query' is allowed: $(cat answer)"
done
[ "$(status_of "" 'topic=Job')" = 403 ] || fail "everybody may follow"
[ "$(status_of 11111111-2222-3333-4444-555555555555 'topic=Job')" = 403 ] || fail "a token that is none may follow"

# No secret, and rights that change end a stream; that of the manager goes on.
"$DROVER" acl token create -name late -policy readers > late || fail "$(cat late)"
eventually 10 "no token" has all '"Topic":"ACLToken","Type":"ACLTokenUpserted".*"Name":"late"'
SECRET=$(field "Secret ID" < late)
[ -n "$SECRET" ] || fail "the token has no secret: $(cat late)"
! grep -q "$SECRET" all || fail "the stream tells a secret"
follow again "$READER" "topic=Job&after=latest"
eventually 5 "the stream does not begin" has again '^{}$'
let_readers write
eventually 10 "a change of its policy does not end a stream" test -e again.ended
follow again2 "$READER" "topic=Job&after=latest"
eventually 5 "the stream does not begin" has again2 '^{}$'
expect 0 "" "$DROVER" acl token delete "$READER_ID"
eventually 10 "a deleted token's stream goes on" test -e again2.ended
test ! -e all.ended || fail "the manager's stream has ended"

# A server that is stopped ends them all, and stops.
kill "$AGENT"
eventually 10 "the stream outlives its server" test -e all.ended
eventually 10 "the agent does not end" gone "$AGENT"

config off < <(printf 'server {\n  enable_event_broker = false\n}\n')
unset NOMAD_TOKEN
run_agent off
eventually 20 "no leader" "$DROVER" operator api /v1/status/leader
[ "$(status_of "" '')" = 500 ] || fail "there are events: $(cat answer)"
grep -q "EventBroker not configured" answer || fail "$(cat answer)"
passed
