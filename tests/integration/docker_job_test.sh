#!/usr/bin/env bash
# Containers under a real agent, with an engine of the test's own: the driver inside the agent, and as a program.
# ENGINE_KIND=podman tries Podman's.
. "$(dirname "$0")/lib.sh"
: "${DRIVERS:?names the folder of the drivers programs}" "${ENGINE:?names the script that runs an engine}"

KIND=${ENGINE_KIND:-docker}
WHY=$("$ENGINE" start "$KIND" "$WORK/engine" 2>&1)
case $? in
  0) ;;
  77)
    "$ENGINE" stop "$WORK/engine"
    echo "skipped: $WHY"
    exit 77
    ;;
  *) fail "the engine does not start: $WHY" ;;
esac
clean_up_all() {
  local pid
  for pid in "${AGENTS[@]}"; do ! is_own_child "$pid" || kill -9 "$pid" 2> /dev/null; done
  "$ENGINE" stop "$WORK/engine"
  ip link del "dtd$$" 2> /dev/null
  clean_up
}
trap clean_up_all EXIT
containers() { docker -H "unix://$WORK/engine/socket" ps -a -q --no-trunc "$@"; }

mkdir "$WORK/plugins"
cp "$DRIVERS/docker-plugin" "$WORK/plugins"
config one << CONFIG
plugin_dir = "$WORK/plugins"
client {
  bridge_network_name   = "dtd$$"
  bridge_network_subnet = "10.213.6.0/24"
}
plugin "docker" {
  config {
    endpoint     = "unix://$WORK/engine/socket"
    infra_image  = "bb:t"
    extra_labels = ["job_name"]
    gc {
      image_delay = "1h"
    }
  }
}
plugin "docker-plugin" {
  args = ["--name", "docker_two"]
  config {
    endpoint  = "unix://$WORK/engine/socket"
    state_dir = "$WORK/state"
  }
}
$RAW_EXEC
CONFIG
# job NAME DRIVER [NETWORK]: with the task's config from standard input.
job() {
  {
    printf 'job "%s" {\n  group "g" {\n    %s\n    restart {\n      attempts = 0\n      mode = "fail"\n    }\n    task "t" {\n      driver = "%s"\n      kill_timeout = "2s"\n' "$1" "${3:-}" "$2"
    printf '      env {\n        GREETING = "hello from ${NOMAD_JOB_NAME}"\n      }\n      config {\n'
    cat
    printf '      }\n      resources {\n        cpu    = 20\n        memory = 32\n      }\n    }\n  }\n}\n'
  } > "$WORK/$1.nomad"
}
job counter docker 'network {
      port "http" {
        to = 80
      }
    }' << 'CONFIG'
        image   = "bb:t"
        command = "/bin/sh"
        args    = ["-c", "echo $GREETING; echo for ${NOMAD_TASK_NAME} > /alloc/data/said; (while :; do echo answered | nc -l -p 80; done) & trap 'echo bye; exit 0' TERM; i=0; while :; do i=$((i+1)); echo line $i.; sleep 0.1 & wait $!; done"]
        ports   = ["http"]
        labels {
          made_by = "test"
        }
CONFIG
job bad docker << 'CONFIG'
        image   = "bb:t"
        command = "/no/such/program"
CONFIG
job forbidden docker << 'CONFIG'
        image      = "bb:t"
        privileged = true
CONFIG
job alone docker 'network {
      mode = "none"
    }' << 'CONFIG'
        image   = "bb:t"
        command = "/bin/sh"
        args    = ["-c", "ls /sys/class/net; exec sleep 1000"]
CONFIG
job bridged docker 'network {
      mode     = "bridge"
      hostname = "box"
      port "http" {
        to = 80
      }
    }' << 'CONFIG'
        image   = "bb:t"
        command = "/bin/sh"
        args    = ["-c", "hostname; ls /sys/class/net; while :; do echo from $NOMAD_ALLOC_ADDR_http | nc -l -p 80; done"]
CONFIG
# A user by a name that only the image knows, here and where no user is said.
job named docker << 'CONFIG'
        image   = "bb:t"
        command = "/bin/sh"
        args    = ["-c", "id -un; echo $(cat /secrets/word); echo $(head -c 3 /secrets/nomad_token); touch /secrets/own && exec sleep 1000"]
CONFIG
sed -i 's|^      env {|      user = "imagined"\n      identity {\n        file = true\n      }\n      template {\n        data        = "templated"\n        destination = "secrets/word"\n      }\n&|' "$WORK/named.nomad"
job program docker_two << 'CONFIG'
        image   = "bb:t"
        command = "/bin/sh"
        args    = ["-c", "echo by a program; exec sleep 1000"]
        init    = true
CONFIG
runs() { ALLOC=$(alloc_of "$1") && [ -n "$ALLOC" ] && "$DROVER" alloc status "$ALLOC" | grep -q 'is "running"'; }
says() { "$DROVER" alloc logs "$ALLOC" | grep -qx "$1"; }
fails_with() {
  ALLOC=$("$DROVER" job status "$1" | awk '/^Allocations/ { found = 1 } found && / failed / { print $1; exit }')
  [ -n "$ALLOC" ] && "$DROVER" alloc status "$ALLOC" | grep -q "$2"
}
start one
has_driver() { "$DROVER" node status -verbose "$("$DROVER" node status | awk "/ ready\$/ { print \$1 }")" | grep -q "driver.docker.version"; }
eventually 30 "the node does not have the driver" has_driver

# Output, environment, folders, labels, a port.
expect 0 "" "$DROVER" job run -detach "$WORK/counter.nomad"
eventually 60 "the task does not run" runs counter
eventually 20 "the task does not greet" says 'hello from counter'
COUNTER=$ALLOC
CONTAINER=$(containers --filter label=made_by=test --filter label=com.hashicorp.nomad.job_name=counter)
[ -n "$CONTAINER" ] || fail "no container with the labels"
CHECKS=$((CHECKS + 1))
[ "$(cat "$WORK"/one-data/alloc/*/alloc/data/said)" = "for t" ] || fail "the shared folder"
ADDRESS=$(docker -H "unix://$WORK/engine/socket" inspect -f '{{with index .NetworkSettings.Ports "80/tcp"}}{{(index . 0).HostIp}}/{{(index . 0).HostPort}}{{end}}' "$CONTAINER")
answers() { [ "$(timeout 2 cat < "/dev/tcp/$ADDRESS")" = answered ]; }
eventually 20 "$ADDRESS does not answer" answers

# Commands, signals, use.
expect 7 "inside" "$DROVER" alloc exec "$COUNTER" /bin/sh -c 'echo inside; exit 7'
# Its secrets lie in memory; the engine shows them as they are.
[ "$(id -u)" != 0 ] || expect 0 "drover-secrets" "$DROVER" alloc exec "$COUNTER" /bin/sh -c 'grep " /secrets " /proc/mounts && touch /secrets/file'
FULL=$(docker -H "unix://$WORK/engine/socket" inspect -f '{{index .Config.Labels "com.hashicorp.nomad.alloc_id"}}' "$CONTAINER")
if [ "$KIND" = podman ]; then USE=Usage; else USE=RSS; fi
uses() { "$DROVER" operator api "/v1/client/allocation/$FULL/stats" | grep -q "\"$USE\": *[1-9]"; }
eventually 20 "no use is told" uses

# The agent is killed; the container goes on, with all of its output.
eventually 20 "the task does not count" says 'line 10.'

# Its secrets are for a user of the image, too, and for nobody else on the machine.
expect 0 "" "$DROVER" job run -detach "$WORK/named.nomad"
eventually 60 "the task of a user that the image knows does not run" runs named
for line in imagined templated eyJ; do eventually 20 "the task does not say $line" says "$line"; done
FULL=$("$DROVER" operator api "/v1/job/named/allocations" | sed -n 's/.*"ID": *"\([^"]*\)".*/\1/p' | head -n 1)
expect 0 "700 root" stat -c '%a %U' "$WORK/one-data/alloc/$FULL/t"
expect 0 "" "$DROVER" job stop -detach named
ALLOC=$COUNTER
kill -9 "$AGENT"
eventually 10 "the agent does not end" gone "$AGENT"
start one
ALLOC=$COUNTER
eventually 60 "the task is not found again" runs counter
eventually 30 "the task's output does not go on" says 'line 60.'
"$DROVER" alloc logs "$COUNTER" | grep '^line' | head -n 60 > "$WORK/lines"
seq -f 'line %.0f.' 60 | cmp - "$WORK/lines" || fail "lines are lost, or twice: $(cat "$WORK/lines")"
CHECKS=$((CHECKS + 1))
[ "$(containers --filter label=made_by=test)" = "$CONTAINER" ] || fail "another container"
expect 0 "" "$DROVER" job stop -detach counter
said_bye() { "$DROVER" alloc logs "$COUNTER" | grep -qx bye; }
eventually 20 "the task was not asked to end" said_bye

# A task that cannot run says why.
expect 0 "" "$DROVER" job run -detach "$WORK/bad.nomad"
eventually 60 "a program that there is not is not told" fails_with bad '/no/such/program'
expect 0 "" "$DROVER" job run -detach "$WORK/forbidden.nomad"
eventually 60 "a refusal is not told" fails_with forbidden 'Docker privileged mode is disabled'

# A network of the group's own, held by a container that goes with it.
expect 0 "" "$DROVER" job run -detach "$WORK/alone.nomad"
eventually 60 "the task does not run" runs alone
eventually 20 "the network has more than itself" says lo
[ -n "$(containers --filter name=nomad_init_)" ] || fail "nothing holds the network"
expect 0 "" "$DROVER" job stop -detach alone
no_holder() { [ -z "$(containers --filter name=nomad_init_)" ]; }
eventually 30 "the network stays" no_holder

# The same with an address on a bridge, and a port of the machine that leads to it.
if "$DROVER" operator api "/v1/node/$("$DROVER" node status -verbose | awk 'NR == 2 { print $1 }')" | grep -q '"drover.bridge"'; then
  expect 0 "" "$DROVER" job run -detach "$WORK/bridged.nomad"
  eventually 60 "the task does not run" runs bridged
  eventually 20 "the container has no interface" says eth0
  says box || fail "the container has another name"
  port=$("$DROVER" alloc status "$ALLOC" | sed -n 's/.*:\([0-9]*\) -> 80$/\1/p')
  speaks() { timeout 5 cat < "/dev/tcp/127.0.0.1/$port" | grep -q '^from 10.213.6.[0-9]*:80$'; }
  eventually 20 "no answer by the machine's port" speaks
  expect 0 "" "$DROVER" job stop -detach -purge bridged
  eventually 30 "the network stays" no_holder
else
  echo "no bridge is tried: this machine cannot make one"
fi

# The driver as a program of its own.
expect 0 "" "$DROVER" job run -detach "$WORK/program.nomad"
eventually 60 "the task does not run" runs program
eventually 20 "the task does not speak" says 'by a program'
expect 0 "" "$DROVER" job stop -detach -purge program
expect 0 "" "$DROVER" job stop -detach -purge counter
expect 0 "" "$DROVER" system gc
none_left() { [ -z "$(containers)" ] || { containers; return 1; }; }
eventually 60 "containers are left" none_left
passed
