#!/usr/bin/env bash
# The audit log of a real agent: who asked for what, what came of it, and no secret.
. "$(dirname "$0")/lib.sh"

config one << CONFIG
$RAW_EXEC
acl {
  enabled = true
}
audit {
  enabled = true
  sink "file" {
    path             = "$WORK/audit/audit.log"
    rotate_bytes     = "64KiB"
    rotate_max_files = 2
  }
  filter "metrics" {
    endpoints  = ["/v1/metrics", "/v1/status/*"]
    operations = ["GET"]
  }
}
CONFIG
run_agent one
cd "$WORK" || exit 1
eventually 20 "no leader" "$DROVER" operator api /v1/status/leader
"$DROVER" acl bootstrap > boot || fail "no bootstrap: $(cat boot)"
ROOT=$(field "Secret ID" < boot) ACCESSOR=$(field "Accessor ID" < boot)
log_has() { grep -q -- "$1" "$WORK/audit/audit.log"; }

expect 1 "Permission denied" "$DROVER" job status
eventually 10 "the refusal is not in the log" log_has '"method":"Jobs.List".*"kind":"anonymous".*"outcome":"denied"'
export NOMAD_TOKEN=$ROOT
expect 0 "Created variable" "$DROVER" var put -out=none secret/path password=marker-of-the-items
eventually 10 "the write is not in the log" log_has "\"method\":\"Variables.Apply\",\"operation\":\"PUT\".*\"kind\":\"management\",\"name\":\"$ACCESSOR\".*\"path\":\"secret/path\".*\"outcome\":\"ok\""
expect 1 "not found" "$DROVER" var get no/such/thing
eventually 10 "the failure is not in the log" log_has '"method":"Variables.Read".*"outcome":"failed","code":"not_found"'
"$DROVER" acl token create -name ci -policy p > made || fail "$(cat made)"
CI=$(field "Secret ID" < made)
expect 0 "" "$DROVER" operator api /v1/metrics
! log_has '"/v1/metrics"' || fail "what the filter names is in the log"
! log_has '"/v1/status/leader"' || fail "what the filter names is in the log"
for secret in "$ROOT" "$CI" marker-of-the-items; do
  ! grep -rq "$secret" "$WORK/audit" || fail "the log holds the secret $secret"
done
[ "$(stat -c %a audit audit/audit.log | tr '\n' ' ')" = "700 600 " ] || fail "the modes are $(stat -c %a audit audit/audit.log)"

# Every line is whole, also when many call at once, and the files are few.
call() { for _ in $(seq 60); do curl -s -H "X-Nomad-Token: $ROOT" "$NOMAD_ADDR/v1/jobs" "$NOMAD_ADDR/v1/nodes" > /dev/null; done; }
for _ in 1 2 3 4; do call & done
wait
[ "$(find audit -type f | wc -l)" -le 3 ] || fail "there are too many files: $(ls audit)"
! grep -hv '^{"time":".*}$' audit/* || fail "a line is not whole"

# A wrong option is refused with its place.
printf 'audit {\n  enabled = true\n  sink "x" {\n    path = "relative"\n  }\n}\n' > wrong.hcl
expect 1 "the sink's path must be absolute: relative" "$DROVER" agent -dev -config wrong.hcl
printf 'audit {\n  sink "x" {\n    delivery_guarantee = "enforced"\n  }\n}\n' > wrong.hcl
expect 1 "delivery_guarantee" "$DROVER" agent -dev -config wrong.hcl
passed
