#!/usr/bin/env bash
# Dynamic host volumes: the page docs/operator/host-volumes.md on a server and two nodes. A volume by mkdir and one by a program, a job
# that writes, an agent that is killed, a replacement that goes back to its volume, and nothing deleted that is in use.
. "$(dirname "$0")/lib.sh"
PAGE=$(realpath "$(dirname "$0")/../../docs/operator/host-volumes.md")
[ "$(id -u)" -eq 0 ] || { echo "skipped: mounting volumes takes root" >&2; exit 77; }
# Tasks that are locked in know nothing of $WORK.
let_go() {
  local alloc
  for alloc in "$WORK"/*-data/alloc/*; do
    grep -l "^NOMAD_ALLOC_ID=${alloc##*/}" -z /proc/[0-9]*/environ 2> /dev/null | sed 's|/proc/||; s|/environ||' | xargs -r kill -9 2> /dev/null
  done
}
trap '[ -n "${KEEP_WORK:-}" ] || let_go; clean_up' EXIT
drover() { "$DROVER" "$@"; }

# --- a server that is a node, and a second node, which has the page's program
config one < /dev/null
cd "$WORK" || exit 1
start one
ONE_AGENT=$AGENT
client_config two "$(free_port)" "$RPC" <<< "client {
  host_volumes_dir       = \"$WORK/volumes\"
  host_volume_plugin_dir = \"$WORK/programs\"
}"
mkdir programs
indented_example '#!/bin/sh' "$PAGE" > programs/script
chmod 755 programs/script
run_agent two
TWO_AGENT=$AGENT
node_id() { drover operator api "/v1/nodes?filter=Name==$1" | tr -d ' \n' | sed 's/.*"ID":"\([0-9a-f-]\{36\}\)".*/\1/'; }
ready() { drover operator api "/v1/nodes?filter=Name==$1" | tr -d ' \n' | grep -q '"Status":"ready"'; }
eventually 30 "no second node" ready two
ONE=$(node_id one) TWO=$(node_id two)
expect 0 '"plugins.host_volume.mkdir.version": "0.0.1"' drover operator api "/v1/node/$ONE"
expect 0 '"plugins.host_volume.script.version": "0.1"' drover operator api "/v1/node/$TWO"

# --- the page: a volume on the second node, a job that writes
example_of "$PAGE" > data.hcl
{ cat data.hcl; echo "node_id = \"$TWO\""; } > on-two.hcl
expect 0 'Created host volume data with ID' drover volume create on-two.hcl
ID=$(drover volume status -type host -verbose | awk '$2 == "data" { print $1 }')
[ "$(stat -c %a "$WORK/volumes/$ID")" = 750 ] || fail "the folder of $ID is not as it was asked for: $(ls -la "$WORK/volumes")"
expect 0 "$WORK/volumes/$ID" drover volume status -type host data
expect 1 "exists on node" drover volume create on-two.hcl
indented_example 'job "writer"' "$PAGE" > writer.hcl
expect 0 "" drover job run -detach writer.hcl
eventually 20 "writer is not placed: $(drover job status writer)" has_alloc writer
WRITER=$(alloc_of writer)
eventually 40 "nothing is written" prints "$WRITER" "$WRITER"
grep -q "$WRITER" "$WORK/volumes/$ID/log" || fail "it was written elsewhere"
expect 1 "in use" drover volume delete -type host data
expect 1 "in use" drover volume create -id "$ID" on-two.hcl
expect 0 "$WRITER" drover volume status data
expect 0 "data" drover volume claim list -job writer

# --- an agent that is killed offers its volumes again, and leaves the task alone
kill -9 "$TWO_AGENT"
eventually 10 "the agent still runs" gone "$TWO_AGENT"
run_agent two
TWO_AGENT=$AGENT
state() { drover volume status -type host "$1" | field State | grep -q "^$2\$"; }
known_again() { drover operator api "/v1/node/$TWO" | tr -d ' \n' | grep -q "\"ID\":\"$ID\",\"Name\":\"data\"\\|\"Name\":\"data\",\"Path\":\"[^\"]*\",\"ReadOnly\":false,\"ID\":\"$ID\""; }
eventually 30 "the node does not offer the volume" known_again
eventually 30 "the volume is not ready" state "$ID" ready
eventually 20 "the task is not running any more" tells "$WRITER" running
[ "$(wc -l < "$WORK/volumes/$ID/log")" = 1 ] || fail "the task was started again"

# --- sticky: with a second volume of the name elsewhere the replacement goes back
{ cat data.hcl; echo "node_id = \"$ONE\""; } > on-one.hcl
expect 0 'Created host volume data with ID' drover volume create on-one.hcl
expect 0 "" drover alloc stop -detach "$WRITER"
moved() { NEXT=$(alloc_of writer); [ -n "$NEXT" ] && [ "$NEXT" != "$WRITER" ] && prints "$NEXT" "$WRITER"; }
eventually 40 "the replacement does not see what the first wrote: $(drover job status writer)" moved
tells "$NEXT" "$(echo "$TWO" | cut -c1-8)" || fail "it runs elsewhere: $(drover alloc status "$NEXT")"

# --- it waits for its node, and why says so
expect 0 "" drover node eligibility -disable "$TWO"
expect 0 "" drover alloc stop -detach "$NEXT"
waits() { drover job status writer | grep -q "missing compatible host volumes"; }
eventually 40 "it does not wait for its volume: $(drover job status writer)" waits
expect 0 "have the volume there that the group had before" drover job why -verbose writer
expect 0 "" drover node eligibility -enable "$TWO"
again() { LAST=$(alloc_of writer); [ -n "$LAST" ] && [ "$LAST" != "$NEXT" ] && prints "$LAST" "$NEXT"; }
eventually 40 "it did not go back: $(drover job status writer)" again

# --- by a program, with a size; what it refuses is not there
cat > sized.hcl << VOLUME
name         = "sized"
type         = "host"
plugin_id    = "script"
capacity_min = "5MiB"
VOLUME
expect 0 'Created host volume sized with ID' drover volume create sized.hcl
expect 0 "5.0 MiB" drover volume status -type host sized
expect 0 '"CapacityBytes": 5242880' drover volume status -json sized
cat > programs/script << 'SCRIPT'
#!/bin/sh
[ "$1" = fingerprint ] && { echo '{"version": "0.2"}'; exit; }
echo '{"error": "the disks are on fire"}'
exit 7
SCRIPT
sed 's/"sized"/"other"/' sized.hcl > other.hcl
expect 1 "exit status 7: the disks are on fire" drover volume create other.hcl
expect 1 'no volumes with prefix or ID "other" found' drover volume status -type host other
expect 1 "the disks are on fire" drover volume delete -type host sized
eventually 10 "a volume that is still there is not ready" state sized ready
indented_example '#!/bin/sh' "$PAGE" > programs/script
expect 0 "Successfully deleted volume" drover volume delete -type host sized
[ "$(ls volumes)" = "$ID" ] || fail "the program's folder is still there: $(ls volumes)"

# --- registered: it is used, and left where it is
mkdir mine
cat > mine.hcl << VOLUME
name      = "mine"
type      = "host"
node_id   = "$ONE"
host_path = "$WORK/mine"
VOLUME
expect 0 "Registered host volume mine" drover volume register mine.hcl
eventually 20 "the registered volume is not ready" state mine ready
expect 0 "Successfully deleted volume" drover volume delete -type host mine
[ -d mine ] || fail "somebody else's folder was deleted"

# --- after the job it goes; one whose node is gone goes by force only
expect 0 "" drover job stop -purge -detach writer
deleted() { drover volume delete -type host "$ID"; }
eventually 40 "the volume is not deleted" deleted
[ -z "$(ls volumes)" ] || fail "it is still there: $(ls volumes)"
unclaimed() { drover volume claim list | grep -q "No volume claims"; }
eventually 20 "a claim outlives its volume" unclaimed
expect 0 'Created host volume data with ID' drover volume create on-two.hcl
kill -9 "$TWO_AGENT"
eventually 60 "the volume of a dead node is ready" state "$(drover volume status -type host -node "$TWO" -verbose | awk '$2 == "data" { print $1 }')" unavailable
LOST=$(drover volume status -type host -node "$TWO" -verbose | awk '$2 == "data" { print $1 }')
expect 1 "without force=true" drover volume delete -type host "$LOST"
expect 0 "Successfully deleted volume" drover volume delete -type host -force "$LOST"
expect 0 "Successfully deleted volume" drover volume delete -type host data
expect 0 "No dynamic host volumes" drover volume status -type host
passed
