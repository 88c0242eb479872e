#!/usr/bin/env bash
# Servers that take in no node that is not introduced, and the identities by which nodes prove themselves: what is refused
# is told at both ends, and a node that is not believed ends nothing. The page docs/operator/nodes.md is run.
. "$(dirname "$0")/lib.sh"
PAGE=$(realpath "$(dirname "$0")/../../docs/operator/nodes.md")

SERVER_HTTP=$(free_port) SERVER_RPC=$(free_port) CLIENT_HTTP=$(free_port)
export NOMAD_ADDR=http://127.0.0.1:$SERVER_HTTP
ACL='acl {
  enabled   = true
  token_ttl = "1s"
}'
SERVER_LINES='min_heartbeat_ttl = "1s"' server_config server "$SERVER_HTTP" "$SERVER_RPC" <<< "$ACL
$(indented_example 'server {' "$PAGE")"
grep -q strict "$WORK/server.hcl" || fail "the page does not say how servers are strict"
client_config client "$CLIENT_HTTP" "$SERVER_RPC" <<< "$ACL
$RAW_EXEC"
sed -i 's/^client {/client {\n  node_pool = "edge"/' "$WORK/client.hcl"
cd "$WORK" || exit 1
run_agent server
eventually 20 "no leader" "$DROVER" operator api /v1/status/leader
eventually 20 "no RPC port" bash -c "exec 3<> /dev/tcp/127.0.0.1/$SERVER_RPC"
bootstrap
eventually 20 "no key" "$DROVER" node intro create
node_stops() { kill -TERM "$AGENT"; eventually 20 "the node's agent does not end" gone "$AGENT"; }
no_node() { [ "$("$DROVER" operator api /v1/nodes | tr -d ' \n')" = "[]" ]; }

# --- no token, and one of another pool: refused, and said at both ends
run_agent client
eventually 20 "the node is not told why" logged client 'the servers refuse this node.*shows no introduction token'
logged server 'a new node is refused.*shows no introduction token' || fail "the server does not say whom it refused"
expect 0 "introduction_violation_num" "$DROVER" operator metrics
expect 0 "" no_node
# As it is written first: the next life of the agent compresses it.
SECRET=$(grep -raohE 'secret.{1,4}[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}' client-data/local | tail -n 1 | tail -c 37)
[ -n "$SECRET" ] || fail "the node's folder has no secret"
node_stops
WRONG=$("$DROVER" node intro create)
NOMAD_CLIENT_INTRO_TOKEN=$WRONG run_agent client
eventually 20 "the wrong pool is not told" logged client 'refuse this node.*for the node pool .*default.*the node is in .*edge'
logged server 'a new node is refused.*for the node pool' || fail "the server does not say whom it refused"
expect 0 "" no_node
node_stops
expect 1 "TTL: at most 30m" "$DROVER" node intro create -node-pool edge -ttl 2h

# --- a good one, which comes while the agent tries
run_agent client
TOKEN=$("$DROVER" node intro create -node-name client -node-pool edge -ttl 10m)
mkdir -p client-data/client
(umask 077 && echo "$TOKEN" > client-data/client/intro_token.jwt)
eventually 40 "the introduced node is not ready" node_is_ready
rm client-data/client/intro_token.jwt

# --- the identity
NODE=$("$DROVER" operator api /v1/nodes | tr -d ' \n' | sed 's/.*"ID":"\([0-9a-f-]\{36\}\)".*/\1/')
on_client() { NOMAD_ADDR=http://127.0.0.1:$CLIENT_HTTP "$DROVER" "$@"; }
claim() { "$DROVER" node identity get "$NODE" | awk -v key="$1" '$1 == key { print $2 }'; }
has_identity() { [ -n "$(claim jti)" ]; }
eventually 30 "the node has no identity" has_identity
expect 0 "nomad_node_pool        edge" "$DROVER" node identity get "$NODE"
claims_of() { NOMAD_ADDR=$1 "$DROVER" operator api "$2" | tr -d ' \n'; }
expect 0 "\"nomad_node_id\":\"$NODE\"" claims_of "$NOMAD_ADDR" "/v1/client/identity?node_id=$NODE"
expect 0 "\"nomad_node_id\":\"$NODE\"" claims_of "http://127.0.0.1:$CLIENT_HTTP" /v1/client/identity
FIRST=$(node_token client-data) JTI=$(claim jti)
[ -n "$FIRST" ] || fail "the node's folder has no identity"
expect 0 "$NODE" with "$FIRST" "$DROVER" operator api "/v1/node/$NODE"
expect 1 "Permission denied" with "$SECRET" "$DROVER" operator api "/v1/node/$NODE"
expect 1 "Permission denied" with "$TOKEN" "$DROVER" operator api "/v1/node/$NODE"
cat > task.hcl << 'JOB'
job "task" {
  node_pool = "edge"
  group "g" {
    task "t" {
      driver = "raw_exec"
      config {
        command = "/bin/sh"
        args    = ["-c", "echo pid $$ end; exec sleep 1000"]
      }
      resources {
        cpu    = 20
        memory = 16
      }
    }
  }
}
JOB
expect 0 "Job registration successful" "$DROVER" job run -detach task.hcl
eventually 30 "the task is not placed" has_alloc task
ALLOC=$(alloc_of task)
eventually 30 "the task does not run" prints "$ALLOC" 'pid .* end'
TASK=$("$DROVER" alloc logs "$ALLOC" | awk '/^pid/ { print $2 }')

# --- renewed: the former one is refused once the node has shown the new one, and nothing else has changed
expect 0 "" "$DROVER" node identity renew "$NODE"
is_renewed() { [ -n "$(claim jti)" ] && [ "$(claim jti)" != "$JTI" ]; }
eventually 30 "the identity is not renewed" is_renewed
refused() { with "$1" "$DROVER" operator api "/v1/node/$NODE" 2>&1 | grep -q "Permission denied"; }
eventually 30 "the former identity is good for ever" refused "$FIRST"
expect 0 "$NODE" with "$(node_token client-data)" "$DROVER" operator api "/v1/node/$NODE"

# --- a restart needs no token, and goes on with the identity
JTI=$(claim jti)
node_stops
run_agent client
eventually 40 "the node is not ready without a token" node_is_ready
eventually 30 "no answer from the node" has_identity
[ "$(claim jti)" = "$JTI" ] || fail "the restart lost the identity"
kill -0 "$TASK" || fail "the task has ended"

# --- a node that is forgotten is not believed, and its tasks go on; introduced again, it is taken in
REFUSALS=$(grep -c 'the servers refuse this node' client.log)
expect 0 "" "$DROVER" operator api -X PUT "/v1/node/$NODE/purge"
is_refused_again() { [ "$(grep -c 'the servers refuse this node' client.log)" -gt $((REFUSALS + 2)) ]; }
eventually 40 "a forgotten node is taken in without a token" is_refused_again
kill -0 "$TASK" || fail "a node that is not believed ended its task"
"$DROVER" node intro create -node-pool edge > client-data/client/intro_token.jwt
eventually 60 "the node is not taken in again" node_is_ready

# --- nobody sees the tokens
for secret in "$TOKEN" "$FIRST" "$SECRET"; do
  ! grep -qF -- "$secret" ./*.log || fail "a log shows a secret"
done
sed -i "s/^client {/client {\n  intro_token = \"$TOKEN\"/" client.hcl
node_stops
run_agent client
eventually 40 "the node is not ready" node_is_ready
eventually 20 "no API of the node" on_client operator api /v1/agent/self
on_client operator api /v1/agent/self > self
! grep -qF -- "$TOKEN" self || fail "the agent shows its token"
passed
