#!/usr/bin/env bash
# Finds objects of all kinds by what somebody remembers of them (docs/operator/search.md), and collects what helps to
# understand a cluster (`operator debug`), on a server and a node of its own with access control.
. "$(dirname "$0")/lib.sh"

server_and_node 'enable_debug = true
acl {
  enabled = true
}' "$RAW_EXEC
enable_debug = true
acl {
  enabled = true
}"
bootstrap
eventually 20 "no ready node" node_is_ready
drover() { "$DROVER" "$@"; }
once_job web-shop 'sleep 1000' ''
EVAL=$(drover eval list -json | grep -o '"ID": "[^"]*"' | head -n 1 | cut -d'"' -f4)
NODE=$(drover node status -json | grep -o '"ID": "[^"]*"' | head -n 1 | cut -d'"' -f4)

# --- status of anything
expect 0 "web-shop" drover status
expect 0 "Submit Date" drover status web
expect 0 "Client Status" drover status "$ALLOC"
expect 0 "TriggeredBy" drover status "$EVAL"
expect 0 "Eligibility" drover status "$NODE"
expect 0 '"web-shop"' drover status -json web
expect 1 'No object with the prefix or ID "nothing" found' drover status nothing

# --- the API: page by page as it is written
search() { curl -s -H "X-Nomad-Token: ${NOMAD_TOKEN:-}" "$NOMAD_ADDR/v1/search$1" -d "$2"; }
expect 0 '{"Matches":{"jobs":["web-shop"]},"Truncations":{"jobs":false}}' search "" '{"Prefix": "web", "Context": "jobs"}'
expect 0 '"commands":[{"ID":"/bin/sh","Scope":["default","web-shop","g","t"]}]' search /fuzzy '{"Text": "BIN", "Context": "all"}'
expect 0 'fuzzy search query must be at least 2 characters, got 1' search /fuzzy '{"Text": "a", "Context": "all"}'
expect 0 'context must be one of [allocs jobs nodes' search "" '{"Prefix": "a", "Context": "cats"}'
expect 0 'Permission denied' with "" search "" '{"Prefix": "w", "Context": "jobs"}'
expect 0 '{"Matches":{"namespaces":[],"vars":[]},' with "" search "" '{"Prefix": "", "Context": "all"}'

# --- a bundle of what the cluster is like
expect 0 "Created debug archive: drover-debug-" drover operator debug -duration=2s -interval=1s
ARCHIVE=$(echo drover-debug-*.tar.gz)
[ "$(stat -c %a "$ARCHIVE")" = 600 ] || fail "everybody may read $ARCHIVE"
mkdir unpacked && tar -xzf "$ARCHIVE" -C unpacked --strip-components=1 || fail "the archive cannot be read"
cd unpacked || exit 1
for file in index.json cluster/agent-self.json cluster/members.json rounds/0000/jobs.json rounds/0001/metrics.json \
  rounds/0001/nodes.json server/server.global/heap.txt "client/$NODE/threads.txt" "client/$NODE/profile.prof" "client/$NODE/agent-host.json"; do
  [ -s "$file" ] || fail "the archive has no $file: $(find . -type f)"
done
[ ! -e rounds/0002 ] || fail "there is a third round"
grep -q '"web-shop"' rounds/0000/jobs.json || fail "the job is not listed"
zcat server/server.global/profile.prof | grep -aq nanoseconds || fail "the profile of the processor is none"
grep -q '"Failures": {}' index.json || fail "failures: $(cat index.json)"
grep -rqE "$NOMAD_TOKEN|$(cat "$WORK/client-data"/client/secret-id 2> /dev/null || echo no-such-secret)" . && fail "a secret is in the archive"
cd ..
ls -d drover-debug-*Z 2> /dev/null && fail "the folder is left behind"

# --- its words when something is wrong, and its end by Ctrl-C
expect 1 '"nobody" is none of the agents that are there' drover operator debug -server-id=nobody
expect 1 "-interval is longer than -duration" drover operator debug -duration=1s
expect 1 "-pprof-duration is longer than -duration" drover operator debug -duration=1s -interval=1s -pprof-duration=2s
expect 1 "-max-nodes must be a number" drover operator debug -max-nodes=many
expect 2 "No such file or directory" drover operator debug -duration=1s -interval=1s -output=missing
mkdir kept
"$DROVER" operator debug -duration=10m -output=kept -event-topic=all > debug.out 2>&1 &
DEBUG=$!
eventually 20 "no round" grep -q "Round 1" debug.out
once_job later 'sleep 1000' ''
eventually 20 "no event of the job" grep -rq '"later"' kept --include=events.json
kill -INT $DEBUG
wait $DEBUG || fail "the interrupted command ends with $?: $(cat debug.out)"
grep -q "Created debug directory: kept/drover-debug-" debug.out || fail "no folder: $(cat debug.out)"
grep -q '"Interrupted": true' kept/*/index.json || fail "the index does not say so: $(cat kept/*/index.json)"
NOMAD_TOKEN='' expect 1 "Permission denied" drover operator debug -duration=1s -interval=1s
passed
