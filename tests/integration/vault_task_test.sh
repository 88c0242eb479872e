#!/usr/bin/env bash
# Tasks with tokens of Vault on a real agent, with a Vault that checks their identities: the page docs/operator/vault.md,
# renewal, a token that is gone, an agent that was killed, revocation, and what is refused.
. "$(dirname "$0")/lib.sh"
: "${FAKE_VAULT:?names the fake Vault}"
PAGE=$(realpath "$(dirname "$0")/../../docs/operator/vault.md")
drover() { "$DROVER" "$@"; }
cd "$WORK" || exit 1

"$FAKE_VAULT" serve "$WORK/address" > "$WORK/vault.log" 2>&1 &
VAULT=$!
AGENTS+=("$VAULT")
disown "$VAULT"
eventually 20 "no Vault" test -s "$WORK/address"
VAULT_ADDR=$(cat "$WORK/address")
VAULT_TOKEN=root
order() { "$FAKE_VAULT" order "$VAULT_ADDR" "$1" > /dev/null || fail "the order $1"; }
state() { "$FAKE_VAULT" state "$VAULT_ADDR"; }
knows() { state | grep -q "\"$1\""; }  # TOKEN
knows_none() { state | grep -q '"tokens":\[\]'; }

order '{"roles": []}'

# --- the page's words to Vault, and its block of the agents' configuration
config one << CONFIG
$RAW_EXEC
$(indented_example 'vault {' "$PAGE" | sed "s,https://vault.example.com:8200,$VAULT_ADDR,")
CONFIG
page_commands() { sed -n 's/^    \$ \(.*\)/\1/p' "$PAGE" | sed "s,https://drover.example.com:4646,$NOMAD_ADDR,"; }
run_page() { # PATTERN: runs the commands of the page that match
  local line
  while read -r line; do
    CHECKS=$((CHECKS + 1))
    eval "$line" > page.out 2>&1 < /dev/null || fail "$line: $(cat page.out)"
  done < <(page_commands | grep -- "$1")
}
# Objects of the page begin and end with a brace of their own, or are one line.
indented_example '{' "$PAGE" > role.json
indented_example '{"policy"' "$PAGE" > policy.json
run_page '^vault()'
run_page '^vault sys/\|^vault auth/'
start one
on_node() { drover operator api "/v1/node/$(drover node status -verbose | awk 'NR == 2 { print $1 }')" | grep -q "\"$1\""; }
eventually 30 "the node does not know Vault" on_node "vault.version"

# --- the page's job: its token, and a secret that changes
example_of "$PAGE" > app.hcl
run_page '^vault secret/\|^drover job run'
eventually 30 "app is not placed" has_alloc app
APP=$(alloc_of app)
eventually 30 "the secret was not written" prints "$APP" "user=ada"
FOLDER=$(echo "$WORK"/one-data/alloc/"$APP"*)
TOKEN=$(cat "$FOLDER/t/secrets/vault_token")
eventually 10 "Vault does not know the token" knows "$TOKEN"
[ "$(stat -c %a "$FOLDER/t/secrets/vault_token")" = 600 ] || fail "others can read the token"
expect 0 "vault_default" drover job inspect app
drover job stop -purge -detach app > /dev/null || fail "app is not stopped"
eventually 30 "the token of a task that is over is good" knows_none

# --- leases of seconds from here on: renewal, and a secret that says how often it is looked at
order '{"lease": 4}'
order '{"put": {"path": "kv/limit", "data": {"value": "one", "ttl": "1"}}}'
cat > live.hcl << 'JOB'
job "live" {
  group "g" {
    task "t" {
      driver = "raw_exec"
      config {
        command = "/bin/sh"
        args = ["-c", <<-SCRIPT
          trap 'echo "now $(cat local/out)"' HUP
          trap 'echo "a new token $(cat "$NOMAD_SECRETS_DIR/vault_token")"' USR1
          echo "begun with $VAULT_TOKEN: $(cat local/out)"
          while :; do sleep 0.2; done
        SCRIPT
        ]
      }
      vault {
        change_mode   = "signal"
        change_signal = "SIGUSR1"
      }
      template {
        destination   = "local/out"
        change_mode   = "signal"
        change_signal = "SIGHUP"
        splay         = "0s"
        wait {
          min = "0s"
        }
        data = "{{ with secret \"kv/limit\" }}{{ .Data.value }}{{ end }}"
      }
    }
  }
}
JOB
expect 0 "Job registration successful" drover job run -detach live.hcl
eventually 30 "live is not placed" has_alloc live
LIVE=$(alloc_of live)
eventually 30 "the task has no token" prints "$LIVE" "begun with hvs.fake-.*: one"
FOLDER=$(echo "$WORK"/one-data/alloc/"$LIVE"*)
token() { cat "$FOLDER/t/secrets/vault_token"; }
FIRST=$(token)
order '{"put": {"path": "kv/limit", "data": {"value": "two", "ttl": "1"}}}'
eventually 30 "the change of a secret was not seen" prints "$LIVE" "now two"
renewals() { state | sed -n 's/.*"auth\/token\/renew-self":\([0-9]*\).*/\1/p'; }
renewed_to() { [ "$(renewals)" -ge "$1" ]; }
eventually 30 "the token is not renewed" renewed_to 3
[ "$(token)" = "$FIRST" ] || fail "a renewal made another token"

# --- an agent that was killed: the token is found again, and renewed before its lease is over
lease_of_a_minute() {  # nearly; one renewal may have come before the order
  order '{"lease": 50}'
  local before
  before=$(renewals)
  eventually 60 "the token is not renewed" renewed_to $((before + 1))
}
lease_of_a_minute
BEFORE=$(renewals)
kill -9 "$AGENT"
eventually 10 "the agent lives" gone "$AGENT"
start one
eventually 30 "the token is not renewed after a restart of the agent" renewed_to $((BEFORE + 1))
[ "$(token)" = "$FIRST" ] || fail "a restart of the agent made another token"
order '{"put": {"path": "kv/limit", "data": {"value": "three", "ttl": "1"}}}'
eventually 30 "the templates do not read with the token that was found again" prints "$LIVE" "now three"

# --- a token that Vault knows no more: another one, and the task hears of it
order '{"lease": 4}'
kill -9 "$AGENT"
eventually 10 "the agent lives" gone "$AGENT"
order '{"forget": true}'
start one
eventually 30 "the task did not hear of a new token" prints "$LIVE" "a new token hvs.fake-"
SECOND=$(token)
[ "$SECOND" != "$FIRST" ] || fail "the file has the token that is gone"
eventually 10 "Vault does not know the new token" knows "$SECOND"
order '{"put": {"path": "kv/limit", "data": {"value": "four", "ttl": "1"}}}'
eventually 30 "the templates do not read with the new token" prints "$LIVE" "now four"

# --- revoked when the task is over, also when Vault is away at first
lease_of_a_minute
order '{"fail": {"auth/token/revoke-self": 503}}'
drover job stop -detach live > /dev/null || fail "live is not stopped"
refused_once() { state | grep -q '"auth/token/revoke-self":[2-9]'; }
eventually 30 "nobody revokes the token" refused_once
knows "$SECOND" || fail "the token went although Vault is away"
order '{"fail": {"auth/token/revoke-self": 0}}'
eventually 30 "the token is not revoked" knows_none

# --- refusals say what to do
once_job wrong 'exec sleep 1000' 'vault {
        role = "nobody"
      }'
eventually 30 "the refusal is not shown" tells "$ALLOC" 'Vault: failed to derive vault token: Vault answers 400: role "nobody" could not be found'
once_job waits 'exec sleep 1000' 'vault {}
      template {
        destination = "local/out"
        data        = "{{ with secret \"kv/none\" }}{{ .Data.x }}{{ end }}"
      }'
eventually 30 "the task does not say for what it waits" tells "$ALLOC" "Missing: vault.read(kv/none): no secret exists there"
sed 's/^job "live" {/&\n  vault_token = "hvs.mine"/' live.hcl > legacy.hcl
expect 1 "each task logs in to Vault with its own identity" drover job validate legacy.hcl
sed 's/create_from_role = .*/&\n  token = "hvs.mine"/' one.hcl > legacy-agent.hcl
expect 1 "each task logs in with its own identity" drover plugin validate-config -config legacy-agent.hcl
for secret in "$FIRST" "$SECOND"; do
  ! grep -qF -- "$secret" "$WORK/one.log" || fail "a token is in the log"
done
passed
