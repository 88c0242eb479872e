#!/usr/bin/env bash
# Namespaces of Consul Enterprise with a real agent and a Consul of the tests': a group's services and keys are in the
# namespace that it names, those of another in the default one, and a node whose Consul has none does not get it.
. "$(dirname "$0")/lib.sh"
: "${FAKE_CONSUL:?names the Consul of the tests}"
cd "$WORK" || exit 1

"$FAKE_CONSUL" serve "$WORK/consul.url" >> "$WORK/consul.log" 2>&1 &
AGENTS+=($!)
disown $!
eventually 20 "no Consul" test -s consul.url
URL=$(cat consul.url)
consul() { "$FAKE_CONSUL" call "$URL" "$@"; }
control() { consul PUT /control "$1" > /dev/null || fail "the tests' Consul does not take $1"; }
# in_namespace NAMESPACE SERVICE: whether the service stands there.
in_namespace() {
  consul GET "/v1/agent/services?ns=$1" > found || { cat found; return 1; }
  grep -q "\"Service\":\"$2\"" found || { cat found; return 1; }
}
not_in_namespace() { consul GET "/v1/agent/services?ns=$1" > found && ! grep -q "\"Service\":\"$2\"" found; }
set_key() { consul PUT "/v1/kv/greeting$1" "$2" > /dev/null || fail "the tests' Consul takes no key"; }

config agent << MORE
consul {
  address        = "${URL#http://}"
  auto_advertise = false
}
$RAW_EXEC
MORE
start agent

# group NAME LINES: one with a service of its own name and a template of the same key as the other.
group() {
  cat << GROUP
  group "$1" {
    $2
    network {
      port "http" {}
    }
    service {
      name = "$1"
      port = "http"
    }
    task "t" {
      driver = "raw_exec"
      config {
        command = "/bin/sleep"
        args    = ["1000"]
      }
      template {
        data        = "{{ key \"greeting\" }}"
        destination = "local/greeting"
        change_mode = "noop"
      }
      resources {
        cpu    = 20
        memory = 16
      }
    }
  }
GROUP
}
{
  echo 'job "shop" {'
  group front 'consul {
      namespace = "team"
    }'
  group back ''
  echo '}'
} > shop.hcl
alloc_in() { # GROUP
  "$DROVER" job status shop | awk -v group="$1" '/^Allocations/ { found = 1 } found && $3 == group && / run / { print $1; exit }'
}
is_placed() { [ -n "$(alloc_in "$1")" ] || { "$DROVER" job status shop; return 1; }; }
reads() { # GROUP TEXT
  [ "$("$DROVER" alloc fs "$(alloc_in "$1")" t/local/greeting)" = "$2" ]
}

# --- this Consul has no namespaces: the node is not taken for the group that names one
set_key "" "from all"
expect 1 'Constraint "${attr.consul.ft.namespaces} = true": 1 nodes excluded by filter' "$DROVER" job plan shop.hcl
expect 0 "Job registration successful" "$DROVER" job run -detach shop.hcl
eventually 30 "the group without a namespace is not placed" is_placed back
eventually 30 "its template is not written" reads back "from all"
is_placed front > /dev/null && fail "a group of a namespace is on a node whose Consul has none"

# --- it becomes one that has: the group is placed, and each reads and registers in its own
control '{"namespaces":["team"]}'
set_key "?ns=team" "from the team"
consul PUT "/v1/agent/service/register?ns=team" '{"ID":"foreign","Name":"foreign","Port":1}' > /dev/null
eventually 60 "the group of the namespace is not placed" is_placed front
eventually 30 "its service is not in the namespace" in_namespace team front
eventually 30 "the other's service is not in the default one" in_namespace default back
not_in_namespace default front || fail "a service is in the default namespace, too"
not_in_namespace team back || fail "a service is in a namespace that its group does not name"
eventually 30 "the template does not read in the namespace" reads front "from the team"
reads back "from all" || fail "the other template reads elsewhere"
set_key "?ns=team" "news"
eventually 30 "the template is not written anew" reads front news
reads back "from all" || fail "a key of another namespace is read"

# --- the end: both are taken out, and nothing else
expect 0 "" "$DROVER" job stop -detach shop
eventually 30 "a service stays in the namespace" not_in_namespace team front
eventually 30 "a service stays in the default namespace" not_in_namespace default back
in_namespace team foreign || fail "a foreign service was taken out"
CHECKS=$((CHECKS + 13))
passed
