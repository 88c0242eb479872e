#!/usr/bin/env bash
# What Prometheus (nomad_sd_configs) and Traefik (providers.nomad) ask of the API to find services, call by call, and read
# as their client library reads it: on a server, on a node, of several namespaces, with access control.
. "$(dirname "$0")/lib.sh"
CALLS=$(realpath "$(dirname "$0")/discovery/calls.py")
command -v python3 > /dev/null || { echo "SKIPPED: needs python3, which makes the calls"; exit 77; }

ACL='acl {
  enabled = true
}'
server_and_node "$ACL" "$RAW_EXEC
$ACL"
eventually 20 "no bootstrap" bash -c "'$DROVER' acl bootstrap > '$WORK/boot'"
NOMAD_TOKEN=$(field "Secret ID" < boot)
export NOMAD_TOKEN
eventually 20 "no ready node" node_is_ready
calls() { python3 "$CALLS" "$@" "token=$READER"; }
expect 0 "Successfully" "$DROVER" namespace apply prod
cat > read.hcl << 'POLICY'
namespace "default" {
  policy = "read"
}
POLICY
expect 0 "" "$DROVER" acl policy apply read read.hcl
READER=$("$DROVER" acl token create -name=reader -policy=read | field "Secret ID")
SERVER_API=127.0.0.1:$SERVER_HTTP NODE_API=127.0.0.1:$CLIENT_HTTP

# job NAME NAMESPACE COUNT TAGS: a service of the group and one of the task.
job() {
  cat > "$1.hcl" << JOB
job "$1" {
  namespace = "$2"
  group "g" {
    count = $3
    update {
      max_parallel = 0
    }
    scaling {
      enabled = true
      min     = 0
      max     = 5
    }
    network {
      port "http" {}
    }
    service {
      name     = "$1"
      provider = "nomad"
      port     = "http"
      tags     = [$4]
    }
    task "t" {
      driver = "raw_exec"
      config {
        command = "/bin/sleep"
        args    = ["1000"]
      }
      service {
        name     = "$1-task"
        provider = "nomad"
        address  = "metrics.example.org"
      }
      resources {
        cpu    = 20
        memory = 16
      }
    }
  }
}
JOB
  expect 0 "Job registration successful" "$DROVER" job run -detach "$1.hcl"
}
# finds NUMBER TEXT CALL…: so many lines, one of which has that text.
finds() {
  local number=$1 text=$2
  shift 2
  calls "$@" > found 2>&1 || { cat found; return 1; }
  [ "$(wc -l < found)" = "$number" ] && { [ "$number" = 0 ] || grep -q -- "$text" found; } || { cat found; return 1; }
}

# --- nothing there: empty lists, not null
expect 0 "" calls prometheus "$SERVER_API"
finds 0 "" prometheus "$SERVER_API" || fail "something is found: $(cat found)"
finds 0 "" traefik "$NODE_API" empty=true || fail "something is found: $(cat found)"

job web default 2 '"traefik.enable=true", "traefik.http.routers.web.rule=Host(`a.example.org`) && Path(`/x`)", "v1"'
job plain default 1 ""
job far prod 1 '"traefik.enable=true"'

# --- Prometheus: by servers and by nodes, stale or not
eventually 30 "not all instances are found" finds 6 "" prometheus "$SERVER_API"
port=$("$DROVER" operator api /v1/service/plain | sed -n 's/.*"Port": *\([0-9]*\).*/\1/p')
node=$("$DROVER" node status -quiet -verbose)
for api in "$SERVER_API" "$NODE_API"; do
  for stale in true false; do
    CHECKS=$((CHECKS + 1))
    finds 6 "^plain 127.0.0.1:$port  default dc1 $node\$" prometheus "$api" "stale=$stale" namespace=default region=global ||
      fail "not as Prometheus needs it: $(cat found)"
    grep -q "^plain-task metrics.example.org:0  default" found || fail "no address of one's own: $(cat found)"
  done
done
# All namespaces: names only of those that may be read; those of others, with rights.
finds 6 "" prometheus "$SERVER_API" 'namespace=*' || fail "other namespaces are seen: $(cat found)"
READER_BEFORE=$READER READER=$NOMAD_TOKEN
finds 8 "^far .* traefik.enable=true prod dc1" prometheus "$SERVER_API" 'namespace=*' || fail "not all namespaces: $(cat found)"
finds 2 "^far " prometheus "$NODE_API" namespace=prod || fail "not the namespace: $(cat found)"
READER=$READER_BEFORE
expect 1 "Unexpected response code: 403 (Permission denied)" calls prometheus "$SERVER_API" namespace=prod
READER=00000000-0000-0000-0000-000000000000
expect 1 "Unexpected response code: 403" calls prometheus "$SERVER_API"
READER=$READER_BEFORE
expect 1 "Unexpected response code: 500 (No path to region)" calls prometheus "$SERVER_API" region=moon

# --- Traefik: tags as they were written, its filter, and services that have no instance
finds 6 'traefik.http.routers.web.rule=Host(`a.example.org`) && Path(`/x`)' traefik "$SERVER_API" stale=true ||
  fail "not as Traefik needs it: $(cat found)"
for api in "$SERVER_API" "$NODE_API"; do
  CHECKS=$((CHECKS + 1))
  finds 2 "^web 127.0.0.1:" traefik "$api" exposed=false || fail "its filter finds others: $(cat found)"
done
finds 6 "^plain-task " traefik "$SERVER_API" empty=true stale=true || fail "not by way of jobs: $(cat found)"
expect 0 "" "$DROVER" job scale -detach web 0
eventually 30 "a service without instances is not told" finds 1 "^web empty$" traefik "$NODE_API" empty=true exposed=false

# --- a change is told to those who wait, and nothing else is
index() { calls wait "$SERVER_API" 0 1 | awk '{ print $2 }'; }
settled() { [ "$(index)" = "$(index)" ] && finds 2 "^plain " prometheus "$SERVER_API"; }
eventually 30 "the services do not come to rest" settled
before=$(index)
expect 0 "index $before after 1." calls wait "$NODE_API" "$before" 1
calls wait "$NODE_API" "$before" 30 stale=true > waited &
waiter=$!
expect 0 "" "$DROVER" job stop -detach plain
wait "$waiter" || fail "the blocking call fails: $(cat waited)"
read -r _ after _ took < waited
[ "$after" -gt "$before" ] || fail "an index that does not grow: $(cat waited)"
[ "${took%.*}" -lt 25 ] || fail "a change is told late: $(cat waited)"
passed
