#!/usr/bin/env bash
# Secrets with marks are put everywhere; then everything that drover writes or answers is searched for them.
. "$(dirname "$0")/lib.sh"

GOSSIP=$(printf 'gossip-key-%05d' $RANDOM | base64)
config one << CONFIG
$RAW_EXEC
log_level = "TRACE"
acl {
  enabled = true
}
audit {
  enabled = true
}
telemetry {
  publish_allocation_metrics = true
  publish_node_metrics       = true
}
CONFIG
sed -i "s|^  bootstrap_expect = 1|  bootstrap_expect = 1\n  encrypt = \"$GOSSIP\"|" "$WORK/one.hcl"
run_agent one
cd "$WORK" || exit 1
eventually 20 "no leader" "$DROVER" operator api /v1/status/leader
uuid() { cat /proc/sys/kernel/random/uuid; }
ROOT=$(uuid)
echo "$ROOT" > boot
"$DROVER" acl bootstrap boot > boot.out || fail "no bootstrap: $(cat boot.out)"
export NOMAD_TOKEN=$ROOT
eventually 20 "no ready node" node_is_ready
has_key() { "$DROVER" operator root keyring list | grep -q active; }
eventually 20 "no root key" has_key
VALUE=mark-of-a-variable-$RANDOM OIDC=mark-of-a-client-secret-$RANDOM
expect 0 "" "$DROVER" var put -out=none nomad/jobs/holder "password=$VALUE"
"$DROVER" acl token create -name ci -type management > ci.out || fail "$(cat ci.out)"
CI=$(field "Secret ID" < ci.out) CI_ACCESSOR=$(field "Accessor ID" < ci.out)
cat > method.json << JSON
{"OIDCDiscoveryURL": "https://127.0.0.1:1", "OIDCClientID": "drover", "OIDCClientSecret": "$OIDC",
 "AllowedRedirectURIs": ["http://localhost:4649/oidc/callback"], "BoundAudiences": ["drover"]}
JSON
expect 0 "" "$DROVER" acl auth-method create -name sso -type OIDC -max-token-ttl 1h -token-locality local -config @method.json
once_job holder 'test -s secrets/login; echo holds; exec sleep 1000' 'identity {
        env  = true
        file = true
      }
      template {
        destination = "secrets/login"
        data        = "{{ with nomadVar \"nomad/jobs/holder\" }}{{ .password }}{{ end }}"
      }'
eventually 20 "the task does not run" prints "$ALLOC" "^holds"
TOKEN=$(find "$WORK/one-data" -name nomad_token -path '*secrets*' -exec cat {} +)
[ -n "$TOKEN" ] || fail "the task has no token"

# Everything that can be read: each path of the API, with what is there for what stands in braces.
first_id() { "$DROVER" operator api "$1" | grep -o '"ID": *"[^"]*"' | head -n 1 | cut -d'"' -f4; }
FULL=$(first_id "/v1/allocations?prefix=$ALLOC") NODE=$(first_id /v1/nodes)
"$DROVER" operator api /v1/openapi.json | tr ',' '\n' | grep -o '"/[v.][^"]*":' | tr -d '":' | sort -u > paths
[ "$(wc -l < paths)" -gt 90 ] || fail "the API has $(wc -l < paths) paths only"
while read -r path; do
  # These show a secret to whoever may read it, which is what they are for.
  case $path in /v1/var/* | /v1/acl/token/* | /v1/agent/keyring/*) continue ;; esac
  asked=$(sed -e "s/{alloc_id}/$FULL/" -e "s/{node_id}/$NODE/" -e 's/{[a-z_]*job_id}/holder/' -e 's/{name}/sso/' -e "s/{[^}]*}/$CI_ACCESSOR/g" <<< "$path")
  echo "--- $asked"
  timeout 3 curl -s -H "X-Nomad-Token: $ROOT" "$NOMAD_ADDR$asked" | head -c 200000
done < paths > answers 2>&1
"$DROVER" acl token list -json >> answers
"$DROVER" acl auth-method info -json sso >> answers
"$DROVER" var list -out=json >> answers
"$DROVER" operator snapshot save state.snap > /dev/null
zcat state.snap > state.plain 2> /dev/null
mkdir debug
"$DROVER" operator debug -duration=2s -interval=1s -event-topic=all -event-index=1 -output=debug > debug.out || fail "no bundle: $(cat debug.out)"
[ -n "$(find debug -name 'events.json' -size +1k)" ] && [ -n "$(find debug -name 'monitor.log' -size +1k)" ] || fail "the bundle has $(find debug -type f -size +1k)"
grep -q '"sso"' answers || fail "the answers do not show the auth method"
CHECKS=$((CHECKS + $(wc -l < paths)))

# The marks: in no answer, log, metric, snapshot or file but those of the task, and the operator's own.
for secret in "$VALUE" "$OIDC" "$ROOT" "$CI" "$TOKEN" "${TOKEN##*.}"; do
  for file in answers state.plain one.log; do
    ! grep -aqF -- "$secret" "$file" || fail "$file has the secret ${secret:0:30}: $(grep -aoF -B1 -- "$secret" "$file" | head -n 1)"
  done
  found=$(grep -rlaF -- "$secret" debug | head -n 3)
  [ -z "$found" ] || fail "the secret ${secret:0:30} is collected in $found"
  # A node's own state has the environment of its tasks, for the next life of the agent.
  found=$(grep -rlaF -- "$secret" one-data | grep -v '/secrets/' | grep -v '^one-data/local/' | head -n 3)
  [ -z "$found" ] || fail "the secret ${secret:0:30} lies in $found"
done
for token in "$ROOT" "$CI"; do  # as the state would keep them: sixteen bytes
  found=$(grep_bytes "$token" one-data state.plain)
  [ -z "$found" ] || fail "the secret of a token lies in $found"
done
! grep -raqF -- "$GOSSIP" answers one.log debug || fail "the key of the gossip is shown"
[ "$(stat -c %a one-data/server one-data/local one-data/audit | sort -u)" = 700 ] || fail "others may look into $(stat -c "%a %n" one-data/*)"
passed
