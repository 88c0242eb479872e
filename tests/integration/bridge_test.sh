#!/usr/bin/env bash
# Networks of allocations on a real agent: the example of docs/operator/networking.md on a bridge of the agent's own and on
# one by CNI plugins, a network by name, and what is left when the tasks have ended.
. "$(dirname "$0")/lib.sh"
PAGE=$(dirname "$0")/../../docs/operator/networking.md

skip() { echo "skipped: missing: $1"; exit 77; }
[ "$(id -u)" = 0 ] || skip "root"
[ -x /bin/busybox ] || skip "busybox (busybox-static)"
unshare -n ip link add probe type bridge 2> /dev/null || skip "bridges in this kernel"
unshare -n nft add table inet probe 2> /dev/null || skip "nftables in this kernel"

bridges=()
clean_up_all() {
  local bridge path id
  ids=$(ls "$WORK"/*-data/alloc 2> /dev/null)
  awk -v work="$WORK" 'index($2, work) == 1 { print $2 }' /proc/self/mounts | while read -r path; do umount "$path"; done
  clean_up
  for id in $ids; do [ ! -e "/run/netns/$id" ] || { umount "/run/netns/$id"; rm "/run/netns/$id"; } done 2> /dev/null
  for bridge in "${bridges[@]}"; do
    ip link del "$bridge" 2> /dev/null
    nft delete table inet "drover_$bridge" 2> /dev/null
    for side in -i -o; do iptables -w -D FORWARD $side "$bridge" -j ACCEPT; done 2> /dev/null
  done
}
trap clean_up_all EXIT

# network_config NAME SUBNET: an agent with a bridge of its own, and further options from standard input.
network_config() {
  bridge=dt$RANDOM
  bridges+=("$bridge")
  config "$1" << MORE
client {
  bridge_network_name   = "$bridge"
  bridge_network_subnet = "$2"
  cni_config_dir        = "$WORK/nets"
  $(cat)
}
$RAW_EXEC
MORE
}
address_of() { "$DROVER" alloc status -t '{{ .NetworkStatus.Address }}' "$1"; }
port_of() { "$DROVER" alloc status "$1" | sed -n 's/.*:\([0-9]*\) -> 8080$/\1/p'; }
all_of() { "$DROVER" job status "$1" | awk '/^Allocations/ { found = 1 } found && / running / { print $1 }'; }
two_run() { [ "$(all_of web | wc -l)" = 2 ]; }
# answer HOST PORT: what a web server says.
answer() { timeout 5 bash -c 'exec 3<> "/dev/tcp/$0/$1"; printf "GET / HTTP/1.0\r\n\r\n" >&3; cat <&3' "$1" "$2" 2>&1; }
answers() { answer "$1" "$2" | grep -q "$3"; }
# left ALLOC…: what is still there of them on this machine.
left() {
  local id
  for id in "$@"; do
    ls /run/netns | grep "^$id"
    ip -o link | grep "veth${id:0:8}"
    nft list ruleset 2> /dev/null | grep "$id"
  done
}
nothing_left() { ! left "$@" | grep .; }

# try_web FIRST: the page's job, whose allocations have addresses that begin with this.
try_web() {
  local id address port ids
  example_of "$PAGE" | sed "s/    count = 2/&\n    restart {\n      delay = \"100ms\"\n    }/" > "$WORK/web.hcl"
  expect 0 "Job registration successful" "$DROVER" job run -detach "$WORK/web.hcl"
  eventually 40 "web does not run" two_run
  ids=$(all_of web)
  for id in $ids; do
    address=$(address_of "$id")
    port=$(port_of "$id")
    case $address in "$1"*) ;; *) fail "the address is \"$address\"" ;; esac
    eventually 20 "no answer from inside" answers "$address" 8080 "hello from $address:8080"
    eventually 5 "no answer by 127.0.0.1" answers 127.0.0.1 "$port" "hello from $address:8080"
    eventually 5 "no answer by the machine's address" answers "$MACHINE" "$port" "hello from $address:8080"
    eventually 20 "the task beside it does not reach it" beside "$id" "hello from $address:8080"
    beside "$id" "^web-[01]$" || fail "the tasks have no name of their own"
    beside "$id" "^$address web-[01]$" || fail "the tasks do not know their name"
    beside "$id" "^nameserver 10.0.0.53$" || fail "the tasks have other name servers"
    CHECKS=$((CHECKS + 7))
  done
  # One allocation reaches the other, by its address and by its port of the machine.
  set -- $ids
  inside "$1" answers "$(address_of "$2")" 8080 "hello from" || fail "allocations of one bridge are apart"
  inside "$1" answers "$MACHINE" "$(port_of "$2")" "hello from" || fail "an allocation does not reach a port of the machine"
}
beside() { "$DROVER" alloc logs -task beside "$1" | grep -q -- "$2"; }
inside() { # ALLOC COMMAND…
  local id=$1
  shift
  nsenter --net="$(echo /run/netns/"$id"*)" bash -c "$(declare -f answer answers); \"\$@\"" bash "$@"
}
MACHINE=$(ip -4 -o addr show scope global | awk '{ sub("/.*", "", $4); print $4; exit }')
[ -n "$MACHINE" ] || MACHINE=127.0.0.1

# --- a bridge of the agent's own, with both families
network_config native 10.213.7.0/24 << 'MORE'
cni_path = "/nowhere"
  bridge_network_subnet_ipv6 = "fd00:213:7::/112"
MORE
start native
try_web 10.213.7.
one=$(alloc_of web)
before=$(address_of "$one")
answers "fd00:213:7::${before##*.}" 8080 "hello from" || fail "no answer over IPv6"

# An agent that was killed finds it as it was, and puts rules in place that somebody has flushed.
kill -9 "$AGENT"
eventually 10 "the agent lives" gone "$AGENT"
nft delete table inet "drover_$bridge"
answers 127.0.0.1 "$(port_of "$one")" "hello" && fail "the port is mapped without rules"
start native
eventually 20 "no answer after a restart" answers 127.0.0.1 "$(port_of "$one")" "hello from $before:8080"
[ "$(address_of "$one")" = "$before" ] || fail "the address has changed"

# A namespace that vanished, as with a restart of the machine, is made and connected anew.
ids=$(all_of web)
kill -9 "$AGENT"
eventually 10 "the agent lives" gone "$AGENT"
for id in $ids; do
  kill -9 $(ip netns pids "$(cd /run/netns && echo "$id"*)")
  umount /run/netns/"$id"*
done
start native
has_moved() { after=$(address_of "$one") && [ "$after" != "$before" ]; }
eventually 20 "the namespace was not connected anew" has_moved
eventually 30 "no answer from a new namespace" answers 127.0.0.1 "$(port_of "$one")" "hello from $after:8080"

expect 0 "" "$DROVER" job stop -detach web
eventually 30 "something is left: $(left $ids)" nothing_left $ids
nft list map inet "drover_$bridge" any4 | grep -q elements && fail "ports are still mapped"

# A network without interfaces has a loopback that works.
cat > "$WORK/alone.hcl" << 'JOB'
job "alone" {
  type = "batch"
  group "g" {
    network {
      mode = "none"
    }
    task "t" {
      driver = "raw_exec"
      config {
        command = "/bin/sh"
        args    = ["-c", "busybox httpd -p 127.0.0.1:80 -h / && busybox wget -q -O - http://127.0.0.1/etc/hostname && echo works; ip -o link | wc -l"]
      }
    }
  }
}
JOB
expect 0 "" "$DROVER" job run "$WORK/alone.hcl"
prints_alone() { prints "$("$DROVER" job status alone | awk '/^Allocations/ { found = 1 } found && / complete / { print $1 }')" "$1"; }
eventually 20 "the loopback does not work" prints_alone works
prints_alone '^1$' || fail "there are other interfaces"

# A job asks in vain.
expect 1 'cannot be set on task group using "host" networking mode' "$DROVER" job run -detach <(sed 's/"bridge"/"host"/; s/web/host/' "$WORK/web.hcl")
sed 's/"bridge"/"cni\/nowhere"/; s/job "web"/job "nowhere"/' "$WORK/web.hcl" > "$WORK/nowhere.hcl"
expect 2 "missing network" "$DROVER" job run "$WORK/nowhere.hcl"
sed 's/"exec"/"raw_exec"/; s/job "web"/job "named"/' "$WORK/web.hcl" > "$WORK/named.hcl"
expect 0 "" "$DROVER" job run -detach "$WORK/named.hcl"
refused() { "$DROVER" operator api /v1/job/named/allocations | grep -q 'hostname is not currently supported on driver raw_exec'; }
eventually 20 "a name is given to raw_exec" refused
kill "$AGENT"
eventually 20 "the agent lives" gone "$AGENT"

# An operator writes in vain.
sed 's#bridge_network_subnet = .*#bridge_network_subnet = "10.0.0.0/33"#' "$WORK/native.hcl" > "$WORK/bad.hcl"
expect 1 'client.bridge_network_subnet: "10.0.0.0/33" is no IPv4 range' "$DROVER" agent -config "$WORK/bad.hcl"

# --- by CNI plugins
if [ ! -x /usr/lib/cni/portmap ] || ! iptables -w -S FORWARD > /dev/null 2>&1; then
  echo "CNI plugins are not tried: missing: containernetworking-plugins, iptables"
  passed
  exit 0
fi
mkdir "$WORK/nets"
cat > "$WORK/nets/lab.conflist" << NET
{"name": "lab", "cniVersion": "0.4.0", "plugins": [
  {"type": "ptp", "ipMasq": true, "ipam": {"type": "host-local", "dataDir": "$WORK/leases", "subnet": "10.213.9.0/24", "routes": [{"dst": "0.0.0.0/0"}]},
   "dns": {"nameservers": ["10.0.0.54"]}},
  {"type": "portmap", "capabilities": {"portMappings": true}}]}
NET
network_config cni 10.213.8.0/24 < /dev/null
start cni
expect 0 '"drover.bridge": "cni"' "$DROVER" operator api "/v1/node/$("$DROVER" node status -verbose | awk 'NR == 2 { print $1 }')"
try_web 10.213.8.
ids=$(all_of web)
kill -9 "$AGENT"
eventually 10 "the agent lives" gone "$AGENT"
start cni
eventually 20 "no answer after a restart" answers 127.0.0.1 "$(port_of "$(alloc_of web)")" "hello from"
expect 0 "" "$DROVER" job stop -detach web
eventually 30 "something is left: $(left $ids)" nothing_left $ids

sed 's/"bridge"/"cni\/lab"/; s/job "web"/job "lab"/; /dns {/,/}/d' "$WORK/web.hcl" > "$WORK/lab.hcl"
expect 0 "" "$DROVER" job run -detach "$WORK/lab.hcl"
lab_runs() { [ "$(all_of lab | wc -l)" = 2 ]; }
eventually 40 "lab does not run" lab_runs
one=$(alloc_of lab)
eventually 20 "no answer from inside" answers "$(address_of "$one")" 8080 "hello from 10.213.9."
beside "$one" "^nameserver 10.0.0.54$" || fail "the name servers are not the network's"
ids=$(all_of lab)
expect 0 "" "$DROVER" job stop -detach lab
eventually 30 "something is left: $(left $ids)" nothing_left $ids
kill "$AGENT"
eventually 20 "the agent lives" gone "$AGENT"
passed
