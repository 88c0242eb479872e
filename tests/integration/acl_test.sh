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
    *"Permission denied"* | *"Unknown allocation"* | *"No local Node"* | *"by agents of another role"* | *"over a WebSocket"* | *"ethod not allowed"* | *"nvalid method"*) ;;
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

# Streams end with the right to them, though the token stays and the same right in another namespace. One that a role
# gave is lost as one that a policy gave.
watchers_may() { # NAMESPACE…
  for place in "$@"; do
    printf 'namespace "%s" {\n  policy = "write"\n  capabilities = ["alloc-node-exec"]\n}\n' "$place"
  done > watch.hcl
  expect 0 "Successfully wrote" with "$ROOT" "$DROVER" acl policy apply watch watch.hcl
}
watchers_may default elsewhere
with "$ROOT" "$DROVER" acl role create -name watchers -policy watch > role || fail "no role"
with "$ROOT" "$DROVER" acl token create -name watcher -role-name watchers > watcher || fail "no token of a role"
WATCHER=$(field "Secret ID" < watcher)
watch_all() { # each prints how it ended
  FOLLOWERS=()
  eventually 20 "the node does not hear of the right" reads "$WATCHER"  # it trusts its last answer for a while
  follow() { local name=$1; shift; { with "$WATCHER" "$@" < /dev/null; printf "\nended with %s\n" $?; } > "$name.out" 2>&1 & FOLLOWERS+=($!); }
  follow logs on_client alloc logs -f "$ALLOC"
  follow file "$DROVER" alloc fs -f "$ALLOC" alloc/logs/t.stdout.0
  follow exec "$DROVER" alloc exec "$ALLOC" /bin/sh -c 'echo hello from a command; exec sleep 1000'
  follow events curl -sN -H "X-Nomad-Token: $WATCHER" "$NOMAD_ADDR/v1/event/stream?topic=Job"
  for name in logs file exec; do eventually 20 "no $name" grep -q "hello from" "$name.out"; done
  eventually 20 "no events" grep -q JobRegistered events.out
}
all_ended() { [ "$(cat logs.out file.out exec.out events.out | grep -c '^ended with')" = 4 ]; }
streams_end() {
  eventually 20 "streams go on without a right" all_ended
  for name in logs file exec; do grep -q "the right to this stream is lost" "$name.out" || fail "$name says: $(cat "$name.out")"; done
  grep -q "subscription closed by server" events.out || fail "the events end so: $(tail -n 3 events.out)"
  CHECKS=$((CHECKS + 5))
  wait "${FOLLOWERS[@]}"
}
watch_all
watchers_may elsewhere
streams_end
watchers_may default elsewhere
watch_all
echo 'namespace "elsewhere" { policy = "write" }' > other.hcl
expect 0 "Successfully wrote" with "$ROOT" "$DROVER" acl policy apply other other.hcl
ROLE=$(awk '/^ID/ { print $NF; exit }' role)
expect 0 "" with "$ROOT" "$DROVER" acl role update -no-merge -name watchers -policy other "$ROLE"
streams_end

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
