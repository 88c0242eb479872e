#!/usr/bin/env bash
# Three servers with TLS everywhere and access control, under load: people log in while leaders are killed and root keys
# are rotated. No login is lost for good, no decision is wrong, and nothing secret can be read on a disk.
JOIN="one two three"
. "$(dirname "$0")/servers.sh"
: "${PROVIDER:?names the test provider}"
mkdir "$WORK/certs"
cd "$WORK/certs" || exit 1
"$DROVER" tls ca create > /dev/null && "$DROVER" tls cert create -server > /dev/null || fail "no certificates"
cd "$WORK" || exit 1
export NOMAD_CACERT=$WORK/certs/nomad-agent-ca.pem
on() { local server=$1; shift; NOMAD_ADDR=https://127.0.0.1:${HTTP[$server]} "$DROVER" "$@"; }

"$PROVIDER" serve "$WORK/issuer" > "$WORK/provider.log" 2>&1 &
AGENTS+=($!)
disown $!
SERVERS=(one two three)
take_serf "${SERVERS[@]}"
for server in "${SERVERS[@]}"; do
  server_config "$server" 3 << CONFIG
tls {
  http      = true
  rpc       = true
  ca_file   = "$WORK/certs/nomad-agent-ca.pem"
  cert_file = "$WORK/certs/global-server-nomad.pem"
  key_file  = "$WORK/certs/global-server-nomad-key.pem"
}
acl {
  enabled = true
}
limits {
  http_limit_attempts = false
}
CONFIG
done
for server in "${SERVERS[@]}"; do run_server "$server"; done
is_led() { [ -n "$(on one operator api /v1/status/leader | tr -d '"\n')" ]; }
eventually 30 "no leader" is_led
on one acl bootstrap > boot || fail "no bootstrap: $(cat boot)"
NOMAD_TOKEN=$(field "Secret ID" < boot)
export NOMAD_TOKEN
for server in "${SERVERS[@]}"; do eventually 30 "$server knows no leader" leads "$server"; done
has_key() { on one operator root keyring list | grep -q active; }
eventually 30 "no root key" has_key

eventually 20 "no provider" test -s "$WORK/issuer"
ISSUER=$(cat "$WORK/issuer")
KEY=$("$PROVIDER" key "$ISSUER" | awk '{ printf "%s\\n", $0 }')
printf '{"JWTValidationPubKeys":["%s"],"BoundIssuer":["ci"],"ClaimMappings":{"team":"team"}}' "$KEY" > method.json
echo 'namespace "default" { policy = "read" }' > reads.hcl
expect 0 "" on one acl policy apply reads reads.hcl
expect 0 "" on one acl auth-method create -name ci -type jwt -token-locality local -max-token-ttl 1h -config @method.json
expect 0 "" on one acl binding-rule create -auth-method ci -selector 'value.team == dev' -bind-type policy -bind-name reads
PASSWORD=password-that-nobody-reads-$RANDOM CLIENT_SECRET=client-secret-that-nobody-reads-$RANDOM
cat > sso.json << JSON
{"OIDCDiscoveryURL": "https://127.0.0.1:1", "OIDCClientID": "drover", "OIDCClientSecret": "$CLIENT_SECRET",
 "AllowedRedirectURIs": ["http://localhost:4649/oidc/callback"], "BoundAudiences": ["drover"]}
JSON
expect 0 "" on one acl auth-method create -name sso -type OIDC -token-locality local -max-token-ttl 1h -config @sso.json
expect 0 "" on one var put -out=none secret/one "password=$PASSWORD"
NOW=$(date +%s)
signed() { "$PROVIDER" sign "$ISSUER" "{\"iss\":\"ci\",\"sub\":\"$1\",\"iat\":$NOW,\"exp\":$((NOW + 3600)),\"team\":\"$1\"}"; }
DEV=$(signed dev) OTHER_TEAM=$(signed other)

# Logs in again and again at whichever server answers. What a login gives may read jobs and nothing more; who is bound by
# no rule never gets in.
login_on() {
  local i server token
  for ((i = 0; ; i++)); do
    [ ! -e "$WORK/enough" ] || return 0
    server=${SERVERS[$((i % 3))]}
    token=$(NOMAD_TOKEN='' on "$server" login -json -method ci -login-token "$DEV" 2> /dev/null | grep -o '"SecretID": *"[^"]*"' | cut -d'"' -f4)
    if [ -n "$token" ]; then
      echo "$token" >> "$WORK/logins"
      NOMAD_TOKEN=$token on "$server" var get secret/one > "$WORK/probe" 2>&1 && echo "a login read a variable" >> "$WORK/wrong"
      grep -q "$PASSWORD" "$WORK/probe" && echo "a refusal shows the variable" >> "$WORK/wrong"
    fi
    NOMAD_TOKEN='' on "$server" login -method ci -login-token "$OTHER_TEAM" > /dev/null 2>&1 && echo "another team got in" >> "$WORK/wrong"
    NOMAD_TOKEN='' on "$server" job status > /dev/null 2>&1 && echo "nobody may list jobs" >> "$WORK/wrong"
  done
}
login_on &
LOGINS=$!
logged_in() { [ "$(wc -l < "$WORK/logins" 2> /dev/null || echo 0)" -ge "$1" ]; }
eventually 60 "nobody logs in" logged_in 2
for round in 1 2; do
  for server in "${SERVERS[@]}"; do leads "$server" && break; done
  FORMER=$LEADER
  for server in "${SERVERS[@]}"; do [ "$server" = "$FORMER" ] || REST=$server; done
  kill -9 "${PID[$FORMER]}"
  eventually 40 "nobody leads after $FORMER" leads "$REST" "$FORMER"
  rotated() { on "$REST" operator root keyring rotate -full; }
  eventually 40 "no rotation in round $round" rotated
  COUNT=$(wc -l < "$WORK/logins")
  eventually 60 "nobody logs in without $FORMER" logged_in $((COUNT + 2))
  run_server "$FORMER"
  eventually 40 "$FORMER does not come back" leads "$FORMER"
  # A server that was away for long was put out, and gets its vote back after a while: the next one may go then.
  all_vote() { [ "$(on "$FORMER" operator raft list-peers | grep -c ' true ')" = 3 ]; }
  eventually 60 "$FORMER has no vote again" all_vote
done
touch "$WORK/enough"
wait "$LOGINS"
[ ! -e "$WORK/wrong" ] || fail "$(sort "$WORK/wrong" | uniq -c)"

# Every token that a login gave is one at every server.
while read -r token; do
  for server in "${SERVERS[@]}"; do
    known() { NOMAD_TOKEN=$token on "$server" job status > /dev/null; }
    eventually 20 "the token of a login is none at $server" known
    CHECKS=$((CHECKS + 1))
  done
done < "$WORK/logins"
expect 0 "$PASSWORD" on one var get secret/one
# Whatever the former root keys sealed is sealed anew.
all_resealed() { on one operator root keyring list > keys && ! grep -q rekeying keys; }
eventually 90 "a root key is not emptied" all_resealed
for server in "${SERVERS[@]}"; do
  for secret in "$PASSWORD" "$CLIENT_SECRET"; do
    ! grep -rqaF "$secret" "$WORK/$server-data" "$WORK/$server.log" || fail "$secret can be read in $(grep -rlaF "$secret" "$WORK/$server-data" "$WORK/$server.log")"
  done
  ! grep -qaF "$NOMAD_TOKEN" "$WORK/$server.log" || fail "the log of $server has a token"
  [ -z "$(grep_bytes "$NOMAD_TOKEN" "$WORK/$server-data")" ] || fail "the token lies in $(grep_bytes "$NOMAD_TOKEN" "$WORK/$server-data")"
  [ -z "$(find "$WORK/$server-data/server" -type f -perm /077)" ] || fail "others may read $(find "$WORK/$server-data/server" -type f -perm /077 | head -n 3)"
done
passed
