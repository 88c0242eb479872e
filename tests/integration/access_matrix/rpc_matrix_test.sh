#!/usr/bin/env bash
# Every method without a form in the HTTP API by every kind of caller, at a server's RPC port: where agents prove by
# their certificates what they are, and where they do not.
. "$(dirname "$0")/../lib.sh"
: "${RPC_MATRIX:?names the program that calls}" "${SOURCES:?names the source tree}"
ROUND=$WORK
trap 'WORK=$ROUND; clean_up' EXIT  # each way has a folder of its own below it
mkdir "$ROUND/certs"
cd "$ROUND/certs" || exit 1
"$DROVER" tls ca create > /dev/null && "$DROVER" tls cert create -server > /dev/null &&
  "$DROVER" tls cert create -client > /dev/null || fail "no certificates"

LIMITS='limits {
  http_limit_attempts      = false
  rpc_max_conns_per_client = 0
}'
tls() { # server or client
  printf 'tls {\n  rpc       = true\n  ca_file   = "%s"\n  cert_file = "%s"\n  key_file  = "%s"\n' \
    "$ROUND/certs/nomad-agent-ca.pem" "$ROUND/certs/global-$1-nomad.pem" "$ROUND/certs/global-$1-nomad-key.pem"
  printf '  verify_server_hostname = true\n}\n'
}
first_id() { "$DROVER" operator api "$1" | grep -o '"ID": *"[^"]*"' | head -n 1 | cut -d'"' -f4; }
two_nodes() { [ "$("$DROVER" node status | grep -c ' ready$')" = 2 ]; }

for way in tls plain; do
  WORK=$ROUND/$way
  mkdir "$WORK"
  SERVER_TLS='' CLIENT_TLS='' CERTIFICATES=()
  if [ "$way" = tls ]; then
    C=$ROUND/certs
    SERVER_TLS=$(tls server) CLIENT_TLS=$(tls client)
    CERTIFICATES=("ca=$C/nomad-agent-ca.pem" "server_cert=$C/global-server-nomad.pem" "server_key=$C/global-server-nomad-key.pem"
      "node_cert=$C/global-client-nomad.pem" "node_key=$C/global-client-nomad-key.pem")
  fi
  unset NOMAD_TOKEN
  server_and_node "acl {
  enabled                  = true
  token_min_expiration_ttl = \"1s\"
}
$SERVER_TLS
$LIMITS" "$RAW_EXEC
acl {
  enabled = true
}
$CLIENT_TLS"
  bootstrap
  eventually 20 "no ready node" node_is_ready
  once_job there 'echo token $NOMAD_TOKEN; exec sleep 1000' 'identity {
        env = true
      }'
  eventually 20 "the job has no identity" prints "$ALLOC" "^token ey"
  TASK=$("$DROVER" alloc logs "$ALLOC" | awk '/^token/ { print $2 }')
  ALLOC=$(first_id "/v1/allocations?prefix=$ALLOC") NODE=$(first_id '/v1/nodes?filter=Name%3D%3Dclient')
  client_config other "$(free_port)" "$SERVER_RPC" <<< "acl {
  enabled = true
}
$CLIENT_TLS"
  run_agent other
  OTHER_AGENT=$AGENT
  eventually 40 "the other node is not there" two_nodes
  eventually 40 "the node has no identity" node_token "$WORK/other-data"
  OTHER=$(first_id '/v1/nodes?filter=Name%3D%3Dother') IDENTITY=$(node_token "$WORK/other-data")
  [ ${#ALLOC} = 36 ] && [ ${#NODE} = 36 ] && [ ${#OTHER} = 36 ] && [ "$NODE" != "$OTHER" ] ||
    fail "the identifiers are \"$ALLOC\", \"$NODE\" and \"$OTHER\""
  "$RPC_MATRIX" "$SOURCES" "127.0.0.1:$SERVER_RPC" "$NOMAD_TOKEN" "alloc_id=$ALLOC" "node_id=$NODE" "other_id=$OTHER" \
    "other_identity=$IDENTITY" "workload=$TASK" "${CERTIFICATES[@]}" > out 2> wrong || fail "$way: $(head -n 40 wrong)"
  cat out
  CHECKS=$((CHECKS + $(grep -o '^[0-9]*' out)))
  for pid in "$OTHER_AGENT" "$CLIENT" "$SERVER"; do kill -9 "$pid"; done
done
WORK=$ROUND
passed
