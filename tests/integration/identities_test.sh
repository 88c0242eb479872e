#!/usr/bin/env bash
# Identities of tasks on a server and a node of its own, with access control: the page docs/operator/identities.md, the
# API socket, what a task may do, how others verify its tokens, renewal, and what is left when the allocation has ended.
. "$(dirname "$0")/lib.sh"
PAGE=$(realpath "$(dirname "$0")/../../docs/operator/identities.md")

SERVER_LINES='oidc_issuer = "https://drover.example.com/"' server_and_node 'acl {
  enabled = true
}' "$RAW_EXEC
acl {
  enabled   = true
  token_ttl = \"1s\"
}"
bootstrap
eventually 20 "no ready node" node_is_ready
drover() { "$DROVER" "$@"; }

# --- the page's job reads its variable through its socket
example_of "$PAGE" | sed 's/ttl *= "1h"/ttl = "6s"/' > who.hcl
echo 'namespace "default" { capabilities = ["list-jobs"] }' > reader.hcl
while read -r line; do
  CHECKS=$((CHECKS + 1))
  eval "$line" > page.out 2>&1 < /dev/null || fail "$line: $(cat page.out)"
done < <(sed -n 's/^    \$ \(drover .*\)/\1/p' "$PAGE" | grep -v "acl policy")
eventually 20 "who is not placed" has_alloc who
WHO=$(alloc_of who)
eventually 20 "the task did not read its variable" prints "$WHO" '"Items":{"greeting":"hello"}'

# --- its files
SECRETS=$(find "$WORK/client-data" -type d -path '*/t/secrets')
TOKEN=$(cat "$SECRETS/nomad_token")
[ "$(stat -c %a "$SECRETS/nomad_token" "$SECRETS/api.sock" | tr '\n' ' ')" = "600 600 " ] || fail "modes: $(ls -l "$SECRETS")"
claims() { # TOKEN: the claims, with the padding that base64 wants
  local part
  part=$(cut -d. -f2 <<< "$1" | tr '_-' '/+')
  while [ $((${#part} % 4)) -ne 0 ]; do part="$part="; done
  base64 -d <<< "$part"
}
case $(claims "$TOKEN") in
  *'"nomad_job_id":"who"'*'"sub":"global:default:who:g:t:default"'*'"aud":"nomadproject.io"'*'"iss":"https://drover.example.com"'*) ;;
  *) fail "the claims are $(claims "$TOKEN")" ;;
esac
case $(claims "$(cat "$SECRETS/nomad_vault.jwt")") in
  *'"aud":"vault.io","exp":'*) ;;
  *) fail "the claims are $(claims "$(cat "$SECRETS/nomad_vault.jwt")")" ;;
esac

# --- others verify it with what the servers publish
curl -s "$NOMAD_ADDR/.well-known/jwks.json" > jwks || fail "no keys"
KEY=$(cut -d. -f1 <<< "$TOKEN" | tr '_-' '/+' | base64 -d 2> /dev/null | grep -o '"kid":"[^"]*"' | cut -d'"' -f4)
grep -q "\"kid\":\"$KEY\"" jwks || fail "the key $KEY is not in $(cat jwks)"
decode() { # BASE64URL
  local part
  part=$(tr '_-' '/+' <<< "$1")
  while [ $((${#part} % 4)) -ne 0 ]; do part="$part="; done
  base64 -d <<< "$part"
}
X=$(tr '{' '\n' < jwks | grep Ed25519 | grep -o '"x":"[^"]*"' | cut -d'"' -f4)
{ printf '\x30\x2a\x30\x05\x06\x03\x2b\x65\x70\x03\x21\x00'; decode "$X"; } > key.der
printf %s "${TOKEN%.*}" > signed
decode "${TOKEN##*.}" > signature
openssl pkeyutl -verify -pubin -inkey key.der -keyform DER -rawin -in signed -sigfile signature > verify 2>&1 || fail "$(cat verify)"
expect 0 '"jwks_uri":"https://drover.example.com/.well-known/jwks.json"' curl -s "$NOMAD_ADDR/.well-known/openid-configuration"

# --- the socket: who shows nothing is told so; a task has its own rights, and those of its job's policies, no more
ask() { (cd "$SECRETS" && curl -s -o "$WORK/body" -w '%{http_code}' --unix-socket api.sock "${@:2}" "http://localhost$1"); } # PATH CURL-ARGUMENTS
as_task() { ask "$1" -H "Authorization: Bearer $TOKEN" "${@:2}"; }
answers() { # CODE COMMAND…
  local got
  got=$("${@:2}")
  CHECKS=$((CHECKS + 1))
  [ "$got" = "$1" ] || fail "${*:2} answers $got, not $1: $(cat body)"
}
answers 401 ask /v1/vars
answers 403 ask /v1/vars -H "X-Nomad-Token: 11111111-1111-1111-1111-111111111111"
answers 403 ask /v1/vars -H "X-Nomad-Token: ${TOKEN%??????}AAAAAA"
answers 200 ask /v1/vars -H "X-Nomad-Token: $NOMAD_TOKEN"
answers 200 as_task /v1/var/nomad/jobs/who
answers 200 as_task /v1/services
answers 403 as_task /v1/var/nomad/jobs/other
answers 403 as_task /v1/var/nomad/jobs/who -X PUT -d '{"Items": {"greeting": "forged"}}'
answers 403 as_task /v1/jobs
answers 403 as_task /v1/nodes
answers 403 as_task /v1/acl/tokens
answers 403 ask /v1/vars -H "Authorization: Bearer $(cat "$SECRETS/nomad_vault.jwt")"
answers 403 curl -s -o body -w '%{http_code}' -H "X-Nomad-Token: $TOKEN" "$NOMAD_ADDR/v1/jobs"
eval "$(sed -n 's/^    \$ \(drover acl policy .*\)/\1/p' "$PAGE")" > page.out 2>&1 || fail "$(cat page.out)"
answers 200 as_task /v1/jobs
answers 200 curl -s -o body -w '%{http_code}' -H "X-Nomad-Token: $TOKEN" "$NOMAD_ADDR/v1/jobs"
answers 403 as_task /v1/job/who
expect 0 "" "$DROVER" acl policy delete reader
answers 403 as_task /v1/jobs

# --- a token that ends is renewed, and the task hears of it
FIRST=$(cat "$SECRETS/nomad_vault.jwt")
renewed() { [ "$(cat "$SECRETS/nomad_vault.jwt")" != "$FIRST" ]; }
eventually 20 "the token was not renewed" renewed
eventually 10 "the task did not hear of it" prints "$WHO" "a new token for vault"

# --- an agent that was killed finds the task, and its socket is served again
kill -9 "$CLIENT"
eventually 10 "the agent lives" gone "$CLIENT"
FIRST=$(cat "$SECRETS/nomad_vault.jwt")
run_agent client
served() { [ "$(as_task /v1/var/nomad/jobs/who)" = 200 ]; }
eventually 30 "the socket is not served again" served
[ "$(cat "$SECRETS/nomad_token")" = "$TOKEN" ] || fail "a token that lasts was made anew"
eventually 20 "the token was not renewed in the agent's next life" renewed

# --- without rights to others' variables a template waits for nobody; a policy of its job gives them
expect 0 "" "$DROVER" var put -out=none shared/greeting k=hello
SPY='template {
        destination = "local/out"
        data        = "{{ with nomadVar \"shared/greeting\" }}{{ .k }} from all{{ end }}"
      }'
once_job spy 'exec sleep 1000' "$SPY"
eventually 20 "another's variable was read" tells "$ALLOC" "Permission denied: a task reads nomad/jobs"
cat > shared.hcl << 'POLICY'
namespace "default" {
  variables {
    path "shared/*" {
      capabilities = ["read"]
    }
  }
}
POLICY
expect 0 "" "$DROVER" acl policy apply -namespace default -job guest shared shared.hcl
once_job guest 'cat local/out; exec sleep 1000' "$SPY"
eventually 20 "what a policy grants is not read" prints "$ALLOC" "hello from all"

# --- nothing is left of it when the allocation has ended
expect 0 "" "$DROVER" job stop -purge -detach who
is_over() { [ "$(curl -s -o body -w '%{http_code}' -H "X-Nomad-Token: $TOKEN" "$NOMAD_ADDR/v1/var/nomad/jobs/who")" = 403 ]; }
eventually 20 "the token is good although the allocation has ended" is_over

# --- what cannot be carried out is refused with its place
sed 's/ttl *= "6s"/ttl = "1ms"/' who.hcl > wrong.hcl
expect 1 "must be from 5s to 87600h" "$DROVER" job validate wrong.hcl
sed 's/      identity {/      identity {\n        aud = ["elsewhere"]/' who.hcl > wrong.hcl
expect 1 "name another identity for other audiences" "$DROVER" job validate wrong.hcl
grep -q "$TOKEN" "$WORK/server.log" "$WORK/client.log" && fail "a token stands in a log"
passed
