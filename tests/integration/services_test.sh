#!/usr/bin/env bash
# Native services on a server and a node of its own: the example of docs/operator/services.md, found by API, command
# line and template, through restarts, changes in place, crashes and the loss of the node.
. "$(dirname "$0")/lib.sh"
PAGE=$(cd "$(dirname "$0")/../.." && pwd)/docs/operator/services.md

SERVER_LINES='min_heartbeat_ttl = "2s"
  heartbeat_grace = "3s"
  failover_heartbeat_ttl = "8s"' server_and_node "" "$RAW_EXEC"
eventually 20 "no ready node" node_is_ready

api() { "$DROVER" operator api "$1"; }
created() { api "/v1/service/$1" | sed -n 's/.*"CreateIndex": *\([0-9]*\).*/\1/p'; }
instances() { api "/v1/service/$1" | grep -o '"ID": *"[^"]*"' | wc -l; }
has() { [ "$(instances "$1")" = "$2" ] || { api "/v1/service/$1"; return 1; }; }

# --- what is not there, and what is refused
expect 0 "No service registrations found" "$DROVER" service list
expect 0 "No service registrations found" "$DROVER" service info shop
expect 1 "service registration not found" "$DROVER" service delete shop none
example_of "$PAGE" > shop.hcl
grep -v provider shop.hcl > consul.hcl
expect 1 'Constraint "${attr.consul.version} semver >= 1.7.0": 1 nodes excluded by filter' "$DROVER" job plan consul.hcl

# --- the page's job is found by name
expect 0 "Job registration successful" "$DROVER" job run -detach shop.hcl
eventually 20 "the group's service is not found" has shop 1
eventually 20 "the task's service is not found" has shop-web 1
alloc=$(alloc_of shop)
expect 0 "[dc1,v1]" "$DROVER" service list
expect 0 "shop-web" "$DROVER" service list -name shop-web
expect 0 "$alloc" "$DROVER" service info shop
expect 0 "_nomad-task-" "$DROVER" service info -verbose shop
expect 0 "No service registrations found" "$DROVER" service info -filter 'Port == 1' shop
expect 0 '"ServiceName"' api /v1/job/shop/services
whole=$(api "/v1/service/shop" | sed -n 's/.*"AllocID": *"\([^"]*\)".*/\1/p' | head -n 1)
expect 0 "_nomad-task-$whole-group-front-shop-http" api "/v1/allocation/$whole/services"
expect 1 "job not found" "$DROVER" operator api /v1/job/none/services
port=$(api /v1/service/shop | sed -n 's/.*"Port": *\([0-9]*\).*/\1/p')
address=$(api /v1/service/shop | sed -n 's/.*"Address": *"\([^"]*\)".*/\1/p')

# --- a template of another job follows it
cat > look.hcl << 'JOB'
job "look" {
  group "g" {
    task "t" {
      driver = "raw_exec"
      config {
        command = "/bin/sh"
        args    = ["-c", "trap 'cat local/shop' HUP; cat local/shop; while :; do sleep 0.1; done"]
      }
      template {
        destination   = "local/shop"
        change_mode   = "signal"
        change_signal = "SIGHUP"
        data          = <<EOT
{{ range nomadService "shop" }}at {{ .Address }}:{{ .Port }} {{ .Tags }};{{ else }}nowhere;{{ end -}}
{{ range nomadServices }}{{ .Name }},{{ end }}{{ range nomadService 1 "me" "shop" }}chosen {{ .JobID }}{{ end }}
EOT
        wait {
          min = "0s"
          max = "0s"
        }
      }
      resources {
        cpu    = 20
        memory = 16
      }
    }
  }
}
JOB
expect 0 "Job registration successful" "$DROVER" job run -detach look.hcl
eventually 20 "look is not placed" has_alloc look
look=$(alloc_of look)
eventually 20 "the template has no address" prints "$look" "at $address:$port \[dc1 v1\];shop,shop-web,chosen shop"

# --- a change in place
sed 's/"v1", "${node.datacenter}"/"v2"/' shop.hcl > shop2.hcl
expect 0 "Job registration successful" "$DROVER" job run -detach shop2.hcl
eventually 20 "the tags are the old ones" bash -c "'$DROVER' service list | grep -q '\[v2\]'"
[ "$(alloc_of shop)" = "$alloc" ] || fail "the allocation was replaced"
eventually 20 "the template has the old tags" prints "$look" "\[v2\]"

# --- a restart of the task registers its service again, and leaves the group's
first=$(created shop-web)
group=$(created shop)
expect 0 "" "$DROVER" alloc restart "$alloc"
is_anew() {
  local now
  now=$(created shop-web)
  [ -n "$now" ] && [ "$now" != "$first" ]
}
eventually 20 "the task's service was not registered again" is_anew
[ "$(created shop)" = "$group" ] || fail "the group's service went"

# --- a row that an operator removes while it runs comes back with the agent's next life, which does not take others out
web=$(api /v1/service/shop-web | sed -n 's/.*"ID": *"\(_nomad[^"]*\)".*/\1/p')
expect 0 "Successfully deleted service registration" "$DROVER" service delete shop-web "$web"
kill -9 "$CLIENT"
eventually 10 "the agent lives" gone "$CLIENT"
has shop 1 || fail "the service went with the agent"
run_agent client
CLIENT=$AGENT
eventually 30 "the deleted row did not come back" has shop-web 1
[ "$(created shop)" = "$group" ] || fail "the service went for a moment"

# --- the server's state outlives it
kill -9 "$SERVER"
eventually 10 "the server lives" gone "$SERVER"
run_agent server
SERVER=$AGENT
eventually 20 "the service is lost" has shop 1

# --- the node is lost, with its rows; it comes back, and so do they
eventually 30 "the node is not back" bash -c "'$DROVER' node status | grep -q ' ready$'"
kill -STOP "$CLIENT"
eventually 60 "a lost node's services stay" has shop 0
has shop-web 0 || fail "a task's service stays"
kill -CONT "$CLIENT"
eventually 60 "the services did not come back" has shop 1
look_again() { look=$(alloc_of look) && prints "$look" '\[v2\];shop'; }
eventually 60 "the template did not come back" look_again

# --- the end
expect 0 "" "$DROVER" job stop -detach shop
eventually 30 "a stopped job's service stays" has shop 0
eventually 30 "a stopped task's service stays" has shop-web 0
eventually 30 "the template does not know of the end" prints "$look" "nowhere;"
expect 0 "" "$DROVER" job stop -detach look
expect 0 "No service registrations found" "$DROVER" service list
passed
