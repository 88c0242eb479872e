#!/usr/bin/env bash
# Every form of the HTTP API by every kind of caller, at the server and at a node agent.
. "$(dirname "$0")/../lib.sh"
: "${ACCESS_MATRIX:?names the program that calls}"

LIMITS='limits {
  http_limit_attempts = false
  http_max_conns_per_client = 0
}'
server_and_node "acl {
  enabled                  = true
  token_min_expiration_ttl = \"1s\"
}
$LIMITS" "$RAW_EXEC
acl {
  enabled = true
}
$LIMITS"
bootstrap
eventually 20 "no ready node" node_is_ready
once_job there 'echo token $NOMAD_TOKEN; exec sleep 1000' 'identity {
        env = true
      }'
eventually 20 "the job has no identity" prints "$ALLOC" "^token ey"
TASK=$("$DROVER" alloc logs "$ALLOC" | awk '/^token/ { print $2 }')
first_id() { "$DROVER" operator api "$1" | grep -o '"ID": *"[^"]*"' | head -n 1 | cut -d'"' -f4; }
ALLOC=$(first_id "/v1/allocations?prefix=$ALLOC") NODE=$(first_id /v1/nodes)
[ ${#ALLOC} = 36 ] && [ ${#NODE} = 36 ] || fail "the identifiers are \"$ALLOC\" and \"$NODE\""
# Another node calls: some of the calls have the first one renew its identity.
client_config other "$(free_port)" "$SERVER_RPC" < /dev/null
run_agent other
eventually 40 "the node has no identity" node_token "$WORK/other-data"
IDENTITY=$(node_token "$WORK/other-data")
for address in "$NOMAD_ADDR" "http://127.0.0.1:$CLIENT_HTTP"; do
  "$ACCESS_MATRIX" "$address" "$NOMAD_TOKEN" "alloc_id=$ALLOC" "node_id=$NODE" job_id=there "node_identity=$IDENTITY" "workload=$TASK" \
    > out 2> wrong || fail "at $address: $(head -n 40 wrong)"
  cat out
  CHECKS=$((CHECKS + $(grep -o '^[0-9]*' out)))
done
passed
