#!/usr/bin/env bash
# The rows of a stopped node, shown without an agent: what runs there and how it is found again, without secrets; the
# folder is left as it is, and one that is in use or no node's is refused.
. "$(dirname "$0")/lib.sh"
cd "$WORK" || exit 1

state() { "$DROVER" operator client-state "$WORK/one-data"; }

config one <<< "$RAW_EXEC"
sed -i 's/^server {/server {\n  min_heartbeat_ttl = "1s"/' one.hcl  # the node's identity comes with a heartbeat
start one
once_job shop "exec sleep 1000" 'env {
        PASSWORD = "not-for-eyes"
      }'
eventually 20 "the task does not run" tells "$ALLOC" 'Client Status *= running'
has_identity() { TOKEN=$(node_token "$WORK/one-data") && [ -n "$TOKEN" ]; }
eventually 30 "the node has no identity" has_identity
expect 1 "an agent (process $AGENT) is using $WORK/one-data/local; stop it first" state

# --- stopped: all of it is shown but for secrets
kill -9 "$AGENT"
eventually 10 "the agent lives" gone "$AGENT"
state > shown || fail "the state is not shown"
TASK=$(awk -F'[:, ]+' '/"pid":/ { print $3; exit }' shown)
tr '\0' ' ' < "/proc/$TASK/cmdline" | grep -q "sleep 1000" || fail "$TASK is not the task: $(cat shown)"
for part in '"JobID": "shop"' '"State": "running"' '"HasIdentity": true' '"PASSWORD"' '"env"'; do
  grep -q -- "$part" shown || fail "$part is not shown: $(cat shown)"
done
for secret in not-for-eyes "$TOKEN"; do
  grep -q -- "$secret" shown && fail "a secret is shown: $(cat shown)"
done
CHECKS=$((CHECKS + 7))

# --- nothing was changed: the next agent takes the task over
start one
eventually 20 "the task is not taken over" tells "$ALLOC" 'Client Status *= running'
[ -d "/proc/$TASK" ] || fail "the task has ended"
tells "$ALLOC" 'Total Restarts *= 0' || fail "the task was restarted"

# --- completion knows it, though its plugin is another one than that of completion
expect 0 "client-state" env COMP_LINE="drover operator client-" "$DROVER" autocomplete

# --- other folders
expect 1 "no agent's rows are below it (local/CURRENT is missing)" "$DROVER" operator client-state "$WORK"
server_config two "$(free_port)" "$(free_port)" < /dev/null
run_agent two
eventually 20 "the server keeps no rows" test -s "$WORK/two-data/local/CURRENT"
kill -9 "$AGENT"
eventually 10 "the server lives" gone "$AGENT"
expect 1 "the rows are no node's" "$DROVER" operator client-state "$WORK/two-data"
passed
