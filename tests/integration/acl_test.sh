#!/usr/bin/env bash
# Access control as an operator sets it up: bootstrap, policies, tokens and roles, on a server and on a node of its own;
# what each may do, here and there, and that lost rights are lost at once. The page docs/operator/access.md is run.
. "$(dirname "$0")/lib.sh"
PAGE=$(realpath "$(dirname "$0")/../../docs/operator/access.md")

server_and_node 'acl {
  enabled = true
}' "$RAW_EXEC
acl {
  enabled   = true
  token_ttl = \"1s\"
}"
on_client() { NOMAD_ADDR=http://127.0.0.1:$CLIENT_HTTP "$DROVER" "$@"; }

# Nobody may do anything before the bootstrap, which works once.
expect 1 "Permission denied" "$DROVER" job status
expect 1 "Permission denied" "$DROVER" node status
expect 0 "" "$DROVER" operator api /v1/agent/health
"$DROVER" acl bootstrap > boot || fail "no bootstrap: $(cat boot)"
ROOT=$(field "Secret ID" < boot)
expect 1 "ACL bootstrap already done" "$DROVER" acl bootstrap
node_ready() { with "$ROOT" "$DROVER" node status | grep -q ' ready$'; }
eventually 20 "no ready node" node_ready

# Every path of the API is closed to who shows nothing, but for those that anybody may ask. Lists of one's own are empty.
OPEN=" /v1/status/leader /v1/status/peers /v1/regions /v1/agent/health /v1/metrics /v1/openapi.json /v1/acl/policies /v1/acl/roles /v1/acl/auth-methods /v1/vars /v1/namespaces "
"$DROVER" operator api /v1/openapi.json | tr ',' '\n' | grep -o '"/v1/[^"]*":' | tr -d '":' | sort -u > paths
[ "$(wc -l < paths)" -gt 80 ] || fail "the API has $(wc -l < paths) paths only"
while read -r path; do
  asked=$(sed 's/{[^}]*}/11111111-1111-1111-1111-111111111111/g' <<< "$path")
  answer=$(timeout 10 "$DROVER" operator api "$asked" 2>&1 < /dev/null | head -c 4000)
  case $OPEN in *" $path "*) continue ;; esac
  case $answer in
    *'"create" is not an identifier' | *'"register" is not an identifier') ;;  # with this verb the word names a volume
    *"Permission denied"* | *"Unknown allocation"* | *"No local Node"* | *"over a WebSocket"* | *"ethod not allowed"* | *"nvalid method"*) ;;
    *) fail "$asked answers without a token: $answer" ;;
  esac
  CHECKS=$((CHECKS + 1))
done < paths

# The page's policies and tokens.
awk '/^    namespace/ { on = 1 } on && /^[^ ]/ { exit } on' "$PAGE" | sed 's/^    //' > deploy.hcl
[ -s deploy.hcl ] || fail "the page has no policy"
export NOMAD_TOKEN=$ROOT
expect 0 'Successfully wrote "deploy" ACL policy!' "$DROVER" acl policy apply -description "runs jobs" deploy deploy.hcl
echo 'namespace "default" { policy = "read" }' > read.hcl
expect 0 'Successfully wrote "read"' "$DROVER" acl policy apply read read.hcl
echo 'namespace "x" { policy = "reed" }' > bad.hcl
expect 1 "Invalid namespace policy" "$DROVER" acl policy apply bad bad.hcl
expect 0 "deploy" "$DROVER" acl policy list
"$DROVER" acl token create -name ci -policy deploy > ci || fail "no token"
"$DROVER" acl token create -name eyes -policy read -ttl 1h > eyes || fail "no token"
CI=$(field "Secret ID" < ci) EYES=$(field "Secret ID" < eyes)
expect 0 "Bootstrap Token" "$DROVER" acl token list
unset NOMAD_TOKEN

once_file() { cat > "$1.nomad" << JOB
job "$1" {
  group "g" {
    task "t" {
      driver = "raw_exec"
      config {
        command = "/bin/sh"
        args    = ["-c", "echo hello from $1; exec sleep 1000"]
      }
      resources {
        cpu    = 20
        memory = 16
      }
    }
  }
}
JOB
}
once_file web
expect 1 "Permission denied" "$DROVER" job run -detach web.nomad
expect 1 "Permission denied" with "$EYES" "$DROVER" job run -detach web.nomad
expect 0 "" with "$CI" "$DROVER" job run -detach web.nomad
expect 0 "web" with "$EYES" "$DROVER" job status
expect 0 "ci" with "$CI" "$DROVER" acl token self
expect 1 "Permission denied" with "$CI" "$DROVER" acl token list
expect 1 "Permission denied" with "$EYES" "$DROVER" node status
expect 1 "Permission denied" with 2b778dd9-f5f1-6f29-b4b4-9a5fa948757a "$DROVER" job status
expect 1 "Permission denied" with "not a token" "$DROVER" job status
# A bad token is refused where a good one is not needed, but for what anybody may ask.
expect 0 "" with "not a token" "$DROVER" operator api /v1/status/leader

alloc() { ALLOC=$(with "$CI" alloc_of web); [ -n "$ALLOC" ]; }
eventually 20 "no allocation" alloc
# On the node itself, too: it asks the server who calls.
reads() { with "$1" on_client alloc logs "$ALLOC" | grep -q "hello from web"; }
eventually 20 "no logs" reads "$CI"
expect 1 "Permission denied" with "$EYES" on_client alloc logs "$ALLOC"
expect 1 "Permission denied" on_client alloc logs "$ALLOC"
expect 1 "Permission denied" with "$EYES" "$DROVER" alloc logs "$ALLOC"
expect 0 "" with "$CI" "$DROVER" alloc fs "$ALLOC"
expect 1 "Permission denied" with "$EYES" "$DROVER" alloc stop -detach "$ALLOC"
expect 1 "Permission denied" with "$CI" on_client operator api /v1/agent/self
expect 0 "client" with "$ROOT" on_client operator api /v1/agent/self

# Rights end at once where the state is, and within token_ttl on the node.
ACCESSOR=$(field "Accessor ID" < ci)
expect 0 "successfully deleted" with "$ROOT" "$DROVER" acl token delete "$ACCESSOR"
expect 1 "Permission denied" with "$CI" "$DROVER" job status
lost() { ! reads "$CI"; }
eventually 10 "a deleted token still reads logs" lost

# A role, and anonymous callers with a policy of theirs.
expect 0 "operators" with "$ROOT" "$DROVER" acl role create -name operators -policy deploy
with "$ROOT" "$DROVER" acl token create -name op -role-name operators > op || fail "no token of a role"
expect 0 "web" with "$(field 'Secret ID' < op)" "$DROVER" job status
expect 0 "" with "$ROOT" "$DROVER" acl policy apply anonymous read.hcl
expect 0 "web" "$DROVER" job status
expect 1 "Permission denied" "$DROVER" job stop -detach web

# All tokens lost: the refusal's index in a file on the leading server allows one more.
INDEX=$("$DROVER" acl bootstrap 2>&1 | sed -n 's/.*reset index: \([0-9]*\)).*/\1/p')
echo "$INDEX" > "$WORK/server-data/acl-bootstrap-reset"
"$DROVER" acl bootstrap > again || fail "no second bootstrap"
expect 0 "" with "$(field 'Secret ID' < again)" "$DROVER" job stop -detach web

# No secret in what agents write.
for secret in "$ROOT" "$CI" "$EYES"; do
  ! grep -q "$secret" "$WORK"/*.log || fail "a secret is in a log"
done
passed
