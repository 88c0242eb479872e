#!/usr/bin/env bash
# The section "A cluster from nothing" of docs/operator/access.md, step by step: its files with the addresses of this
# test, its commands as they stand there.
. "$(dirname "$0")/lib.sh"
: "${PROVIDER:?names the test provider}"
awk '/^## A cluster from nothing/ { on = 1 } on && /^## What/ { exit } on' "$(dirname "$0")/../../docs/operator/access.md" > "$WORK/page"
cd "$WORK" || exit 1
drover() { "$DROVER" "$@"; }
"$PROVIDER" serve "$WORK/issuer" > provider.log 2>&1 &
AGENTS+=($!)
disown $!
eventually 20 "no provider" test -s issuer
ISSUER=$(cat issuer) HTTP=$(free_port) RPC=$(free_port) CLIENT_HTTP=$(free_port) CALLBACK=$(free_port)
here() {
  sed -e "s,https://id.example.com,$ISSUER,; s,SECRET,not s+ecret/=,; s,localhost:4649,localhost:$CALLBACK,; s,server.example.com:4647,127.0.0.1:$RPC," \
    -e "s,:4646,:$HTTP,; s,= 4646,= $HTTP,; s,= 4647,= $RPC,; s,0\.0\.0\.0,127.0.0.1,; s,/var/lib/drover,$WORK/$1-data,"
}
file() { # NAME BEGINNING [FURTHER LINES]
  indented_example "$2" page | here "$1" > "$1"
  [ -s "$1" ] || fail "the page has no $1"
  echo "${3:-}" >> "$1"
}
file server.hcl 'name      = "server"'
file client.hcl 'name      = "client"' "ports {
  http = $CLIENT_HTTP
}"
file engineers.hcl 'namespace "default"'
file company.json '{ "OIDCDiscoveryURL"'
file greeter.hcl 'job "greeter"'

# The person in front of the browser: goes to the address that is printed, and where that leads.
visit() {
  local url back
  url=$(grep -o "$ISSUER/authorize?[^ ]*" errors) || return 1
  back=$("$PROVIDER" visit "$url") || return 1
  "$PROVIDER" get "$back" > shown
}
person() { eventually 30 "no address for the browser" visit; }
logs_say() { drover alloc logs -job greeter | grep -qx hello; }

while read -r line <&4; do
  CHECKS=$((CHECKS + 1))
  case $line in
    "drover agent "*)
      name=${line##* } name=${name%.hcl}
      run_agent "$name"
      continue
      ;;
    *"drover acl bootstrap"*) eventually 30 "no leader" "$DROVER" operator api /v1/status/leader ;;
    "drover node status") eventually 30 "no ready node" node_is_ready ;;
    *"drover login"*)
      ROOT=$NOMAD_TOKEN
      unset NOMAD_TOKEN
      : > errors
      person &
      PERSON=$!
      line=${line/drover login/drover login -oidc-callback-addr localhost:$CALLBACK}
      ;;
    "drover alloc logs"*) eventually 30 "the job does not read its variable" logs_say ;;
  esac
  eval "$line" > output 2> errors < /dev/null || fail "$line: $(cat output errors)"
  case $line in
    *NOMAD_TOKEN=*) [ -n "$NOMAD_TOKEN" ] || fail "$line: no token: $(cat errors)" ;;
  esac
done 4< <(sed -n 's/^    \$ //p' page | here server)
wait "$PERSON" || fail "the person did not get through: $(cat errors)"
grep -qx hello output || fail "the last command prints $(cat output)"
[ $CHECKS -ge 15 ] || fail "the page has $CHECKS commands only"

# What the page promises of it: the person is no manager, and nobody else gets in.
[ "$NOMAD_TOKEN" != "$ROOT" ] || fail "the login gave no token of its own"
expect 1 "Permission denied" drover acl token list
expect 0 "OIDC-company" drover acl token self
expect 1 "Permission denied" with "" drover job status
expect 0 "company" with "$ROOT" drover acl auth-method list
expect 1 "speaks https" env NOMAD_ADDR="http://127.0.0.1:$HTTP" "$DROVER" job status
passed
