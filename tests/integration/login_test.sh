#!/usr/bin/env bash
# Logins as people and builds do them: with a token that a provider signed, and with a browser; what the rules give, what
# the token may do and when it ends, and what is refused. The page docs/operator/login.md is run.
. "$(dirname "$0")/lib.sh"
: "${PROVIDER:?names the test provider}" "${DRIVERS:?names the folder of plugins that are programs}" "${MODULES:?names that of plugins}"
PAGE=$(realpath "$(dirname "$0")/../../docs/operator/login.md")

SERVER_HTTP=$(free_port) SERVER_RPC=$(free_port)
export NOMAD_ADDR=http://127.0.0.1:$SERVER_HTTP
server_config server "$SERVER_HTTP" "$SERVER_RPC" << CONFIG
acl {
  enabled                  = true
  token_min_expiration_ttl = "1s"
}
CONFIG
cd "$WORK" || exit 1
drover() { "$DROVER" "$@"; }

"$PROVIDER" serve "$WORK/issuer" > "$WORK/provider.log" 2>&1 &
AGENTS+=($!)
disown $!
run_agent server
eventually 20 "no provider" test -s "$WORK/issuer"
ISSUER=$(cat "$WORK/issuer")
eventually 20 "no leader" "$DROVER" operator api /v1/status/leader
drover acl bootstrap > boot || fail "no bootstrap: $(cat boot)"
ROOT=$(field "Secret ID" < boot)

echo 'namespace "default" { policy = "write" }' > deploy.hcl
expect 0 "" with "$ROOT" drover acl policy apply deploy deploy.hcl
expect 0 "" with "$ROOT" drover acl role create -name operators -policy deploy

# Only management writes methods and rules; everybody sees which methods there are.
"$PROVIDER" key "$ISSUER" > key.pem || fail "no key"
KEY=$(awk '{ printf "%s\\n", $0 }' key.pem)
printf '{"JWTValidationPubKeys":["%s"],"BoundIssuer":["ci"],"ClaimMappings":{"name":"name"}}' "$KEY" > static.json
CREATE=(drover acl auth-method create -name static -type jwt -token-locality local)
expect 1 "Permission denied" "${CREATE[@]}" -max-token-ttl 12s -config @static.json
expect 1 "invalid MaxTokenTTL value '48h0m0s' (should be between 1s and 24h0m0s)" with "$ROOT" "${CREATE[@]}" -max-token-ttl 48h -config @static.json
expect 1 "SigningAlgs[0]: must be RS, PS or ES" with "$ROOT" "${CREATE[@]}" -max-token-ttl 12s -config '{"JWKSURL":"https://x/","SigningAlgs":["none"]}'
expect 1 "Typo: there is no such option" with "$ROOT" "${CREATE[@]}" -max-token-ttl 12s -config '{"JWKSURL":"https://x/","Typo":1}'
expect 1 "invalid token type 'LDAP'" with "$ROOT" drover acl auth-method create -name x -type LDAP -token-locality local -max-token-ttl 12s -config '{}'
expect 0 "No ACL auth methods found" drover acl auth-method list
expect 0 "Type         = JWT" with "$ROOT" "${CREATE[@]}" -max-token-ttl 12s -config @static.json
expect 0 "static  JWT   false" drover acl auth-method list
expect 1 "Permission denied" drover acl auth-method info static
expect 1 "Permission denied" drover acl binding-rule list
expect 1 "Must specify an auth method name, no default found" drover login
expect 1 "Error: method none not found in the state store." drover login -method none
expect 1 "You need to provide a login token." drover login -method static

# A token over those claims, signed by the provider; times are of now.
NOW=$(date +%s)
signed() { "$PROVIDER" sign "$ISSUER" "{\"iss\":\"ci\",\"sub\":\"build 7\",\"aud\":\"drover\",\"iat\":$NOW,\"exp\":$((NOW + 3600)),$1}"; }
GOOD=$(signed '"name":"Ops"')
expect 1 "no role or policy bindings matched" drover login -method static -login-token "$GOOD"
expect 0 "Bind Name" with "$ROOT" drover acl binding-rule create -auth-method static -selector 'value.name == Ops' -bind-type policy -bind-name deploy
expect 1 'binding rule 0 invalid: selector is invalid' with "$ROOT" drover acl binding-rule create -auth-method static -selector '==' -bind-type role -bind-name x
drover login -method static -login-token "$GOOD" > login || fail "no login: $(cat login)"
grep -q "Successfully logged in via JWT and static" login || fail "no word of success: $(cat login)"
SECRET=$(field "Secret ID" < login)
expect 0 "JWT-static" with "$SECRET" drover acl token self
expect 0 "No running jobs" with "$SECRET" drover job status
expect 1 "Permission denied" with "$SECRET" drover acl token list
ended() { ! with "$SECRET" drover job status; }
eventually 40 "the token does not end" ended

# A bad token is 401 and says why.
says() { expect 1 "$1" drover login -method static -login-token "$2"; }
says "no known key successfully validated the token signature" "${GOOD%???????}AAAAAAA"
says "token signed with unexpected algorithm" "$(printf '{"alg":"none"}' | base64 -w0 | tr -d =).e30."
says "token is expired" "$("$PROVIDER" sign "$ISSUER" '{"iss":"ci","exp":1000}')"
says "invalid JWT issuer" "$("$PROVIDER" sign "$ISSUER" "{\"iss\":\"eve\",\"iat\":$NOW}")"
says "no issued at (iat), not before (nbf), or expiration time (exp) claims in token" "$("$PROVIDER" sign "$ISSUER" '{"iss":"ci"}')"
status_of() { # PATH BODY: the HTTP status of a PUT
  local line
  exec 3<> "/dev/tcp/127.0.0.1/$SERVER_HTTP"
  printf 'PUT %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s' "$1" ${#2} "$2" >&3
  read -r line <&3
  exec 3>&-
  awk '{ print $2 }' <<< "$line"
}
[ "$(status_of /v1/acl/login '{"AuthMethodName":"static","LoginToken":"x"}')" = 401 ] || fail "a bad token is not 401"
[ "$(status_of /v1/acl/login '{"AuthMethodName":"none","LoginToken":"x"}')" = 400 ] || fail "an unknown method is not 400"
[ "$(status_of /v1/acl/oidc/complete-auth '{"AuthMethodName":"static","ClientNonce":"n","State":"s","Code":"c","RedirectURI":"http://localhost/"}')" = 401 ] || fail "an unknown state is not 401"
[ "$(status_of /v1/acl/oidc/auth-url '{}')" = 400 ] || fail "an empty request is not 400"

# The page, its addresses replaced by those of the provider here: builds.
CALLBACK=$(free_port)
indented_example '{ "JWKSURL"' "$PAGE" | sed "s,https://ci.example.com/keys,$ISSUER/keys,; s,https://ci.example.com,ci," > ci.json
indented_example '{ "OIDCDiscoveryURL"' "$PAGE" | sed "s,https://id.example.com,$ISSUER,; s,SECRET,not s+ecret/=," > company.json
signed '"project":{"name":"web"},"teams":["a"]' > token.jwt
page_line() { # PATTERN: the line of the page with that command is run
  local line
  line=$(grep "^    drover $1" "$PAGE" | head -n 1)
  [ -n "$line" ] || fail "the page has no line: drover $1"
  eval "$line" > page 2>&1 || fail "$line: $(cat page)"
  CHECKS=$((CHECKS + 1))
}
export NOMAD_TOKEN=$ROOT
page_line "acl auth-method create -name ci"
page_line "acl binding-rule create -auth-method ci"
page_line "acl auth-method create -name company"
page_line "acl binding-rule create -auth-method company"
unset NOMAD_TOKEN
page_line "login -method ci"
grep -q "Successfully logged in via JWT and ci" page || fail "the page's login: $(cat page)"
signed '"project":{"name":"other"}' > token.jwt
expect 1 "no role or policy bindings matched" bash -c "'$DROVER' login -method ci -login-token - < token.jwt"

# People: the provider sends the browser back with a code, and the command line prints the token.
expect 1 "default method already exists: company" with "$ROOT" drover acl auth-method update -default ci
expect 0 "OIDCClientSecret    = redacted" with "$ROOT" drover acl auth-method info company
visit() { # what the person does: goes to the address that is printed, and where that leads
  URL=$(grep -o "$ISSUER/authorize?[^ ]*" browser 2> /dev/null) || return 1
  BACK=$("$PROVIDER" visit "$URL") || return 1
  "$PROVIDER" get "$BACK" > shown
}
begin_login() {
  rm -f browser
  "$DROVER" login -oidc-callback-addr "localhost:$CALLBACK" "$@" > browser 2>&1 &
  LOGIN=$!
  eventually 20 "no address for the browser" visit
}
begin_login
wait "$LOGIN" || fail "no login with a browser: $(cat browser)"
grep -q "You can close this window" shown || fail "the browser is shown: $(cat shown)"
grep -q "Successfully logged in via OIDC and company" browser || fail "no word of success: $(cat browser)"
PERSON=$(field "Secret ID" < browser)
expect 0 "operators" with "$PERSON" drover acl token self
expect 0 "OIDC-company" with "$PERSON" drover acl token self
expect 0 "No running jobs" with "$PERSON" drover job status
# The answer of the provider is good once.
CODE=${BACK##*code=} CODE=${CODE%%&*} STATE=${BACK##*state=} STATE=${STATE%%&*}
[ "$(status_of /v1/acl/oidc/complete-auth "{\"AuthMethodName\":\"company\",\"ClientNonce\":\"n\",\"State\":\"$STATE\",\"Code\":\"$CODE\",\"RedirectURI\":\"http://localhost:$CALLBACK/oidc/callback\"}")" = 401 ] || fail "a login is completed twice"
expect 1 "unauthorized redirect_uri" drover operator api -X PUT /v1/acl/oidc/auth-url '{"AuthMethodName":"company","ClientNonce":"n","RedirectURI":"https://evil.example/"}'
# Refusals come back to the command line.
"$PROVIDER" switch "$ISSUER" '{"denies":true}' > /dev/null
begin_login
! wait "$LOGIN" || fail "a refused person is logged in"
grep -q "the provider says: access_denied" browser || fail "the refusal is not shown: $(cat browser)"
"$PROVIDER" switch "$ISSUER" '{"claims":{"nonce":"another"}}' > /dev/null
begin_login
! wait "$LOGIN" || fail "the token of another login is taken"
grep -q "it belongs to another login (nonce)" browser || fail "the refusal is not shown: $(cat browser)"
"$PROVIDER" switch "$ISSUER" '{}' > /dev/null
# An update leaves what it does not say, the secret too.
expect 0 "MaxTokenTTL  = 2h0m0s" with "$ROOT" drover acl auth-method update -max-token-ttl 2h company
begin_login
wait "$LOGIN" || fail "no login after an update: $(cat browser)"
# With -json the object alone is on standard output.
begin_login -json
wait "$LOGIN" || fail "no login with -json: $(cat browser)"
grep -q '"SecretID"' browser || fail "no object: $(cat browser)"

# A restart keeps methods and rules. The plugin of one type is a program from now on.
kill -9 "$AGENT"
eventually 10 "the agent lives" gone "$AGENT"
mkdir -p server-data/plugins
cp "$DRIVERS/jwt-plugin" server-data/plugins/ && chmod 755 server-data/plugins/jwt-plugin
echo 'plugin "jwt" { enabled = false }' >> server.hcl
run_agent server
eventually 20 "no leader" "$DROVER" operator api /v1/status/leader
expect 0 "company  OIDC  true" drover acl auth-method list
expect 0 "Successfully logged in via JWT and static" drover login -method static -login-token "$GOOD"
says "token is expired" "$("$PROVIDER" sign "$ISSUER" '{"iss":"ci","exp":1000}')"
expect 1 "missing OIDCDiscoveryURL" with "$ROOT" drover acl auth-method update -config '{}' company
expect 1 "keys come from one place" with "$ROOT" drover acl auth-method update -config '{"JWKSURL":"https://x/","OIDCDiscoveryURL":"https://x/"}' static
begin_login
wait "$LOGIN" || fail "no login after a restart: $(cat browser)"
RULE=$(with "$ROOT" drover acl binding-rule list -t '{{range .}}{{if eq .AuthMethod "company"}}{{.ID}}{{end}}{{end}}')
expect 0 "Bind Type    = management" with "$ROOT" drover acl binding-rule update -bind-type management -no-merge "$RULE"
begin_login
wait "$LOGIN" || fail "no login as management: $(cat browser)"
expect 0 "OIDC-company" with "$(field 'Secret ID' < browser)" drover acl token list
expect 0 "ACL binding rule $RULE successfully deleted" with "$ROOT" drover acl binding-rule delete "$RULE"
expect 0 "ACL auth method company successfully deleted" with "$ROOT" drover acl auth-method delete company

# The plugin for browsers, in both forms, by the conformance kit.
cat > oidc.hcl << HCL
login "browser" {
  subject = "ada"
  visit   = "'$PROVIDER' code \"\$DROVER_LOGIN_URL\""
  config {
    OIDCDiscoveryURL    = "$ISSUER"
    OIDCClientID        = "drover"
    OIDCClientSecret    = "not s+ecret/="
    AllowedRedirectURIs = ["http://127.0.0.1:4649/oidc/callback"]
  }
}
login "invalid" {
  path = "OIDCDiscoveryURL"
  config {
    OIDCDiscoveryURL    = "http://id.example"
    OIDCClientID        = "drover"
    AllowedRedirectURIs = ["http://127.0.0.1:4649/oidc/callback"]
  }
}
HCL
expect 0 " 0 failed" drover plugin test -sdk -task oidc.hcl "$DRIVERS/oidc-plugin"
expect 0 " 0 failed" drover plugin test -sdk -task oidc.hcl "$MODULES/oidc.so"

# No secret in what agents write.
for secret in "$ROOT" "$PERSON" "$GOOD" "$CODE" "$STATE" "not s+ecret/=" "engineers"; do
  ! grep -qF -- "$secret" "$WORK"/*.log || fail "a secret is in a log"
done
grep -q "somebody has logged in.*subject=ada" "$WORK/server.log" || fail "no line about a login"
passed
