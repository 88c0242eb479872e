#!/usr/bin/env bash
# Agents that prove themselves by certificates: two servers and a node of one authority, and others that stay outside.
JOIN="one two"
. "$(dirname "$0")/servers.sh"
command -v openssl > /dev/null || { echo "skipped: the openssl program is missing"; exit 77; }

take_serf one two

authority() { # NAME
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj "/CN=$1" \
    -keyout "$WORK/$1.key" -out "$WORK/$1.pem" 2> /dev/null || fail "no authority $1"
}
certificate() { # NAME AUTHORITY SUBJECT
  openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "/CN=$3" \
    -keyout "$WORK/$1-key.pem" -out "$WORK/$1.csr" 2> /dev/null &&
    openssl x509 -req -in "$WORK/$1.csr" -CA "$WORK/$2.pem" -CAkey "$WORK/$2.key" -CAcreateserial -days 2 \
      -extfile <(echo "subjectAltName=DNS:$3,DNS:localhost,IP:127.0.0.1") -out "$WORK/$1-cert.pem" 2> /dev/null ||
    fail "no certificate for $1"
}
tls() { # AUTHORITY CERTIFICATE
  printf 'tls {\n  rpc       = true\n  ca_file   = "%s"\n  cert_file = "%s"\n  key_file  = "%s"\n}\n' \
    "$WORK/$1.pem" "$WORK/$2-cert.pem" "$WORK/$2-key.pem"
}
client_config() { # NAME
  cat > "$WORK/$1.hcl" << CONFIG
name      = "$1"
data_dir  = "$WORK/$1-data"
bind_addr = "127.0.0.1"
ports {
  http = $(free_port)
}
client {
  enabled           = true
  servers           = ["127.0.0.1:${RPC[one]}"]
  network_interface = "lo"
}
CONFIG
}
two_voters() { [ "$("$DROVER" operator raft list-peers | grep -c ' true ')" = 2 ]; }
is_ready() { "$DROVER" node status | grep -q "$1 .* ready$"; }

authority ours
authority theirs
certificate server ours server.global.nomad
certificate client ours client.global.nomad
certificate intruder theirs client.global.nomad

# An error names the missing option before anything is served.
server_config one 2 <<< 'tls { rpc = true }'
expect 1 "tls.rpc needs tls.ca_file" "$DROVER" agent -config "$WORK/one.hcl"
server_config one 2 < <(tls ours nobody)
expect 1 "tls.cert_file: $WORK/nobody-cert.pem cannot be read" "$DROVER" agent -config "$WORK/one.hcl"

for agent in one two; do server_config "$agent" 2 < <(tls ours server); done
export NOMAD_ADDR=http://127.0.0.1:${HTTP[one]}
for agent in one two; do run_server "$agent"; done
eventually 30 "two servers did not form a cluster over TLS" two_voters

client_config trusted
tls ours client >> "$WORK/trusted.hcl"
client_config plain
client_config stranger
tls theirs intruder >> "$WORK/stranger.hcl"
for agent in trusted plain stranger; do run_server "$agent"; done
eventually 30 "the node of the same authority is not ready" is_ready trusted
eventually 30 "the node without TLS was not turned away" logged plain "not reached"
eventually 30 "the node of another authority was not turned away" logged stranger "not reached"
expect 0 "trusted" "$DROVER" node status
for agent in plain stranger; do
  "$DROVER" node status | grep -q "$agent" && fail "node $agent is registered"
done
grep -l "PRIVATE KEY" "$WORK"/*.log && fail "a private key stands in a log"
passed
