#!/usr/bin/env bash
# The document that a real agent serves, before a validator that knows nothing of drover.
. "$(dirname "$0")/../../integration/lib.sh"
: "${PROGRAMS:?names a folder for the Go program}"

skip() { echo "skipped: $*"; exit 77; }
command -v go > /dev/null || skip "Go is missing (golang-go)"
[ -d /usr/share/gocode/src/github.com/getkin/kin-openapi ] || skip "golang-github-getkin-kin-openapi-dev is missing"
mkdir -p "$PROGRAMS"
GO111MODULE=off GOPATH=/usr/share/gocode GOFLAGS=-p=1 GOCACHE="$PROGRAMS/cache" \
  go build -o "$PROGRAMS/validate" "$(dirname "$0")/validate.go" > "$WORK/go.log" 2>&1 || fail "the validator cannot be built"

config one << 'CONFIG'
plugin "mock_driver" {
  config {
    enabled = true
  }
}
CONFIG
start one
cat > "$WORK/web.nomad" << 'JOB'
job "web" {
  meta {
    kept = "one"
  }
  group "g" {
    network {
      port "http" {}
    }
    task "t" {
      driver = "mock_driver"
      config {
        run_for = "10m"
      }
    }
  }
}
JOB
expect 0 "finished with status \"complete\"" "$DROVER" job run "$WORK/web.nomad"
"$DROVER" operator api /v1/openapi.json > "$WORK/openapi.json" || fail "the agent serves no document"
for path in /v1/jobs '/v1/job/{job_id}/plan' /v1/openapi.json /v1/agent/plugins; do
  expect 0 "\"$path\": {" cat "$WORK/openapi.json"
done
expect 0 "Registers a job, or a new version of one" cat "$WORK/openapi.json"
expect 0 "valid: " "$PROGRAMS/validate" "$WORK/openapi.json"

# The answers have the described form.
node=$("$DROVER" node status -quiet -verbose)
alloc=$("$DROVER" operator api /v1/allocations | sed -n 's/^        "ID": "\(.*\)",$/\1/p')
eval=$("$DROVER" operator api /v1/evaluations | sed -n 's/^        "ID": "\(.*\)",$/\1/p' | head -n 1)
for pair in /v1/jobs: '/v1/job/{job_id}':web '/v1/job/{job_id}/summary':web '/v1/job/{job_id}/versions':web \
  /v1/nodes: '/v1/node/{node_id}':"$node" '/v1/node/{node_id}/allocations':"$node" \
  /v1/allocations: '/v1/allocation/{alloc_id}':"$alloc" '/v1/client/allocation/{alloc_id}/stats':"$alloc" \
  /v1/evaluations: '/v1/evaluation/{eval_id}':"$eval" '/v1/evaluation/{eval_id}/allocations':"$eval" \
  /v1/agent/self: /v1/agent/health: /v1/agent/members: /v1/agent/plugins: /v1/client/stats: /v1/metrics: /v1/regions: \
  /v1/status/leader: /v1/status/peers: /v1/operator/raft/configuration: /v1/operator/autopilot/configuration:; do
  path=${pair%:*}
  "$DROVER" operator api "${path/\{*\}/${pair##*:}}" > "$WORK/answer.json" || fail "no answer to $pair"
  expect 0 "valid: " "$PROGRAMS/validate" "$WORK/openapi.json" "$path" "$WORK/answer.json"
done

# The validator tells a document that is wrong.
sed 's/"operationId": "JobsList"/"operationId": "JobsGet"/' "$WORK/openapi.json" > "$WORK/wrong.json"
expect 1 "JobsGet" "$PROGRAMS/validate" "$WORK/wrong.json"
echo '[{"ID": 7}]' > "$WORK/answer.json"
expect 1 "/v1/jobs: " "$PROGRAMS/validate" "$WORK/openapi.json" /v1/jobs "$WORK/answer.json"
passed
