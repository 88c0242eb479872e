#!/usr/bin/env bash
# Services in Consul with a real agent and a Consul of the tests': the example of docs/operator/consul.md is registered,
# judged by its checks, put right and taken out, through changes by hand, loss and kill -9.
. "$(dirname "$0")/lib.sh"
PAGE=$(cd "$(dirname "$0")/../.." && pwd)/docs/operator/consul.md
: "${FAKE_CONSUL:?names the Consul of the tests}"
cd "$WORK" || exit 1

"$FAKE_CONSUL" serve "$WORK/consul.url" >> "$WORK/consul.log" 2>&1 &
AGENTS+=($!)
disown $!
eventually 20 "no Consul" test -s consul.url
URL=$(cat consul.url)
consul() { "$FAKE_CONSUL" call "$URL" "$@"; }
control() { consul PUT /control "$1" > /dev/null || fail "the tests' Consul does not take $1"; }
services() { consul GET /v1/agent/services; }
checks() { consul GET /v1/agent/checks; }
in_consul() { services | grep -q -- "$1"; }
not_in_consul() { ! services > found || ! grep -q -- "$1" found; }
registrations() { consul GET /control/calls | grep -c "PUT /v1/agent/service/register shop"; }
# says CHECK STATUS: how Consul says that a check does.
says() { checks | grep -o '"Name":"[^"]*"\|"Status":"[^"]*"' | grep -A1 "\"Name\":\"$1\"" | grep -q "\"Status\":\"$2\""; }
good() { control "{\"check\":\"answers\",\"status\":\"passing\",\"output\":\"fine\"}"; }
bad() { control "{\"check\":\"answers\",\"status\":\"critical\",\"output\":\"refused\"}"; }

config agent << MORE
consul {
  address = "${URL#http://}"
  token   = "not-for-eyes"
}
$RAW_EXEC
MORE
start agent
NODE=$("$DROVER" node status | awk 'NR == 2 { print $1 }')
expect 0 "consul.version" "$DROVER" node status -verbose "$NODE"
expect 0 "<redacted>" "$DROVER" operator api /v1/agent/self
"$DROVER" operator api /v1/agent/self | grep -q not-for-eyes && fail "the token is shown"
grep -q not-for-eyes agent.log && fail "the token is in the log"

# --- somebody else's services, one with a name like ours
consul PUT /v1/agent/service/register '{"ID":"_nomad-task-foreign","Name":"foreign","Port":1}' > /dev/null
consul PUT /v1/agent/service/register '{"Name":"db","Tags":["primary"]}' > /dev/null

# --- registered, and healthy when Consul says so
example_of "$PAGE" > shop.hcl
expect 0 "Job registration successful" "$DROVER" job run -detach shop.hcl
eventually 30 "the group's service is not in Consul" in_consul '"Service":"shop"'
eventually 30 "the task's service is not in Consul" in_consul '"Service":"shop-web"'
for part in '"Tags":\["v1","dc1"\]' '"owner":"ada"' '"external-source":"nomad"'; do
  in_consul "$part" || fail "Consul does not have $part: $(services)"
done
ALLOC=$(alloc_of shop)
deployment_is() { "$DROVER" job deployments shop | grep -q " $1 " || { "$DROVER" job deployments shop; return 1; }; }
deployment_is running || fail "the deployment does not wait for Consul"
check_is() {
  "$DROVER" alloc checks "$ALLOC" | tr -s ' ' | grep -A4 "^Name = $1$" | grep -q "^Status = $2$" ||
    { "$DROVER" alloc checks "$ALLOC"; return 1; }
}
eventually 20 "a check that has not run is judged" check_is answers pending
eventually 30 "the script's result is not told" says looks passing
good
eventually 30 "the deployment is not successful" deployment_is successful
check_is answers success || fail "the check is not shown as Consul says"
expect 0 "fine" "$DROVER" alloc checks "$ALLOC"

# --- what others did is put right: Consul loses all, and nobody is restarted for it; tags edited by hand
control '{"lose":true}'
consul PUT /v1/agent/service/register '{"ID":"_nomad-task-foreign","Name":"foreign","Port":1}' > /dev/null
eventually 60 "a lost service did not come back" in_consul '"Service":"shop"'
eventually 60 "a lost service of a task did not come back" in_consul '"Service":"shop-web"'
eventually 20 "the check did not come back" says answers critical
web=$(services | grep -o '_nomad-task-[^"]*group-front-shop-http' | head -n 1)
control "{\"edit\":\"$web\",\"tags\":[\"by hand\"]}"
in_consul "by hand" || fail "the tests' Consul was not edited"
good
eventually 20 "the check is not known again" check_is answers success
tells "$ALLOC" "Restart Signaled" && fail "a task was restarted because Consul had lost its check"
eventually 60 "the tag of a person stays" not_in_consul "by hand"
in_consul '"Tags":\["v1","dc1"\]' || fail "the job's tags are not back"

# --- killed: nothing vanishes, and the next life takes over what it finds
kill -9 "$AGENT"
eventually 10 "the agent lives" gone "$AGENT"
in_consul '"Service":"shop"' || fail "the service went with the agent"
before=$(registrations)
start agent
eventually 30 "the check is not known again" check_is answers success
in_consul '"Service":"shop"' || fail "the service went with the agent's next life"
[ "$(registrations)" = "$before" ] || fail "what stood there was registered anew"

# --- critical: the task is restarted
bad
eventually 40 "no restart" tells "$ALLOC" 'Restart Signaled.*healthcheck: check "answers" unhealthy'
good

# --- the end: ours go, the others stay
expect 0 "" "$DROVER" job stop -detach shop
eventually 30 "a stopped job's service stays" not_in_consul '"Service":"shop"'
eventually 30 "a stopped task's service stays" not_in_consul '"Service":"shop-web"'
in_consul '"_nomad-task-foreign"' || fail "a foreign service was taken out"
checks > left
grep -q '"ServiceID":"_nomad-task-' left && fail "checks are left behind: $(cat left)"

# --- agents stand in Consul, and a client that knows no server finds it there
count() { services | grep -o "\"Service\":\"$1\"" | wc -l; }
has() { [ "$(count "$1")" = "$2" ] || { services; return 1; }; }
eventually 40 "the server does not stand in Consul" has nomad 3
eventually 40 "the client does not stand in Consul" has nomad-client 1
client_config second "$(free_port)" 1 << MORE
consul {
  address = "$URL"
}
MORE
sed -i '/ servers /d' second.hcl
run_agent second
both_ready() { [ "$("$DROVER" node status | grep -c ' ready$')" = 2 ]; }
eventually 60 "the client did not find its server" both_ready
eventually 40 "the second client does not stand in Consul" has nomad-client 2
kill -TERM "$AGENT"
eventually 30 "the second client does not end" gone "$AGENT"
eventually 10 "an agent that was stopped stands in Consul" has nomad-client 1

# --- what is not carried out is said
sed 's/      meta {/      connect {\n        native = true\n      }\n      meta {/' shop.hcl > mesh.hcl
expect 1 "Consul's service mesh is not carried out" "$DROVER" job run -detach mesh.hcl
passed
