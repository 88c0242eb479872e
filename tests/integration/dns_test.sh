#!/usr/bin/env bash
# Services by DNS: the example and the commands of docs/operator/dns.md on a server and a node, scaled up and down, with
# checks that fail, servers that are away, the C library's own resolver, and access control.
. "$(dirname "$0")/lib.sh"
: "${DNS_ASK:?names the program that asks}"
PAGE=$(realpath "$(dirname "$0")/../../docs/operator/dns.md")
cd "$WORK" || exit 1

DNS=$(free_port) SERVER_DNS=$(free_port)
# with_lines LINE…: the page's first block with these lines in it.
with_lines() {
  indented_example 'plugin "dns"' "$PAGE" | sed -n '1,3p'
  printf '    %s\n' "$@"
  printf '  }\n}\n'
}

# dig as the page has it: what is asked at port 8653 there is asked at DNS here.
dig() {
  local options=() words=()
  while [ $# -gt 0 ]; do
    case $1 in
      @*) ;;
      -p) shift ;;
      +tcp) options+=(-tcp) ;;
      *) words+=("$1") ;;
    esac
    shift
  done
  "$DNS_ASK" "${options[@]}" 127.0.0.1 "$DNS" "${words[@]}"
}
ask() { "$DNS_ASK" 127.0.0.1 "$DNS" "$@"; }
# counts NUMBER TYPE NAME: so many records of that type answer.
counts() {
  ask "$3" "$2" > answer
  [ "$(grep -c "^$3. [0-9]* $2 " answer)" = "$1" ] || { cat answer; return 1; }
}
# says TEXT NAME [TYPE]: the answer has that text.
says() { ask "${@:2}" | tee answer | grep -q -- "$1" || { cat answer; return 1; }; }

# --- what is refused before the agent starts
refuses() { # TEXT LINE
  with_lines "$2" | client_config wrong 1 1
  expect 1 "$1" "$DROVER" agent -config "$WORK/wrong.hcl"
}
refuses "recursors" 'recursors = ["1.1.1.1"]'
refuses 'plugin "dns": clients: only this machine may ask at 10.0.0.1:53' 'addresses = ["10.0.0.1:53"]'
refuses 'plugin "dns": domain: "a..b"' 'domain = "a..b"'
refuses 'No such file' "token_file = \"$WORK/none\""

# --- a server and a node that answer
HTTP=$(free_port) RPC=$(free_port) CLIENT_HTTP=$(free_port)
# A second address, which the C library can ask, where this machine allows that port.
ADDRESSES="\"127.0.0.1:$DNS\"" LIBRARY=
if [ "$(id -u)" = 0 ] && unshare -m true 2> /dev/null; then
  LIBRARY=127.77.$((RANDOM % 200 + 20)).$((RANDOM % 200 + 20))
  ADDRESSES="$ADDRESSES, \"$LIBRARY:53\""
fi
server_config server "$HTTP" "$RPC" < <(with_lines "addresses = [\"127.0.0.1:$SERVER_DNS\"]")
client_config client "$CLIENT_HTTP" "$RPC" < <(echo "$RAW_EXEC"; with_lines "addresses = [$ADDRESSES]" 'ttl = "7s"')
export NOMAD_ADDR=http://127.0.0.1:$HTTP
run_agent server
SERVER=$AGENT
eventually 20 "no leader" "$DROVER" operator api /v1/status/leader
eventually 20 "no RPC port" bash -c "exec 3<> /dev/tcp/127.0.0.1/$RPC"
run_agent client
CLIENT=$AGENT
eventually 20 "no ready node" node_is_ready
expect 0 "NXDOMAIN aa" ask web.service.drover
expect 0 "authority drover. 2 SOA" ask web.service.drover

# --- the page's job, by the page's commands
# Without a deployment, behind which a count would have to wait.
example_of "$PAGE" | sed 's/count = 2/&\n    update {\n      max_parallel = 0\n    }/' > web.hcl
expect 0 "Job registration successful" "$DROVER" job run -detach web.hcl
eventually 20 "the service is not found" counts 2 SRV web.service.drover
while read -r command; do
  case $command in
    *AAAA) expect 0 "authority drover. 2 SOA" eval "$command" ;;
    *_web*) expect 0 "_web._tcp.service.drover. 7 SRV 1 1 " eval "$command" ;;
    *SRV) expect 0 "web.service.drover. 7 SRV 1 1 " eval "$command" ;;
    *) expect 0 "drover. 7 A 127.0.0.1" eval "$command" ;;
  esac
  expect 0 "NOERROR aa" eval "$command"
done < <(sed -n 's/^    \$ dig/dig/p' "$PAGE")
[ "$(grep -c '^    \$ dig' "$PAGE")" -ge 6 ] || fail "the page has lost its commands"
CHECKS=$((CHECKS + 1))

# Ports and addresses are those of the registrations, and a target has the address that came with it.
ports() { "$DROVER" operator api /v1/service/web | sed -n 's/.*"Port": *\([0-9]*\).*/\1/p' | sort; }
[ "$(ask web.service.drover SRV | awk '$3 == "SRV" { print $6 }' | sort)" = "$(ports)" ] || fail "other ports: $(ask web.service.drover SRV)"
target=$(ask web.service.drover SRV | awk '$1 == "additional" { print $2, $5; exit }')
expect 0 "${target%% *} 7 A ${target##* }" ask "${target%% *}"
alloc=$(alloc_of web)
expect 0 "SRV 1 1 " ask "$alloc.web.service.drover" SRV
[ "$(ask "$alloc.web.service.drover" SRV | grep -c ' SRV ')" = 1 ] || fail "more than one allocation"

# Names that are not there, names that only lead on, names of others.
expect 0 "NXDOMAIN aa" ask v2.web.service.drover
expect 0 "NXDOMAIN aa" ask web.service.prod.ns.drover
expect 0 "NXDOMAIN aa" ask nothing.drover
expect 0 "NOERROR aa" ask service.drover
expect 0 "drover. 7 NS dns.drover." ask drover NS
expect 0 "dns.drover. 7 A 127.0.0.1" ask dns.drover
expect 0 "REFUSED" ask example.org
expect 0 "REFUSED" ask drover AXFR
expect 0 "wEb.SERVICE.drover. 7 A" ask wEb.SERVICE.drover
raw() { "$DNS_ASK" -hex "$1" 127.0.0.1 "$DNS"; }
expect 0 "FORMERR" raw 1267010000010000000000000377
expect 0 "NOTIMP" raw 126728000001000000000000
expect 1 "no answer" raw 1267
expect 1 "no answer" raw 126781000001000000000000
# The server, which is no node, answers the same.
expect 0 "SRV 1 1 " "$DNS_ASK" 127.0.0.1 "$SERVER_DNS" web.service.drover SRV

# --- up and down
expect 0 "" "$DROVER" job scale -detach web 16
eventually 30 "it is not followed up" bash -c "[ \"\$('$DNS_ASK' -tcp 127.0.0.1 $DNS web.service.drover SRV | grep -c '^web.* SRV ')\" = 16 ]"
expect 0 "NOERROR aa tc" ask web.service.drover SRV
counts 16 SRV web.service.drover > /dev/null && fail "sixteen fit into 512 bytes"
expect 0 "NOERROR aa" "$DNS_ASK" -edns 1232 127.0.0.1 "$DNS" web.service.drover SRV
[ "$("$DNS_ASK" -edns 1232 127.0.0.1 "$DNS" web.service.drover SRV | grep -c '^web.* SRV ')" = 16 ] || fail "EDNS is not heard"
ask web.service.drover SRV > first
is_other_order() { ask web.service.drover SRV > second && ! cmp -s first second; }
eventually 10 "always the same order" is_other_order
expect 0 "" "$DROVER" job scale -detach web 1
eventually 30 "it is not followed down" counts 1 SRV web.service.drover

# --- an instance whose check fails is left out
cat > sick.hcl << JOB
job "sick" {
  group "g" {
    service {
      name     = "Sick"
      provider = "nomad"
      port     = 7000
      tags     = ["Loud"]
      check {
        name     = "well"
        type     = "script"
        task     = "t"
        command  = "/bin/sh"
        args     = ["-c", "test ! -e $WORK/sick || exit 2"]
        interval = "1s"
        timeout  = "5s"
      }
    }
    task "t" {
      driver = "raw_exec"
      config {
        command = "/bin/sleep"
        args    = ["1000"]
      }
      resources {
        cpu    = 20
        memory = 16
      }
    }
  }
}
JOB
expect 0 "Job registration successful" "$DROVER" job run -detach sick.hcl
eventually 20 "a name with capitals is not found" counts 1 SRV sick.service.drover
expect 0 "NOERROR aa" ask loud.sick.service.drover
touch sick
eventually 20 "who is sick is still named" counts 0 SRV sick.service.drover
counts 0 A sick.service.drover || fail "A names the sick"
expect 0 "NOERROR aa" ask sick.service.drover
expect 0 '"critical"' "$DROVER" operator api /v1/service/Sick
expect 0 "= critical" "$DROVER" service info -verbose Sick
rm sick
eventually 20 "who is well again is not named" counts 1 SRV sick.service.drover
expect 0 "" "$DROVER" job stop -detach sick
eventually 30 "a stopped service is named" says '^NXDOMAIN aa' sick.service.drover

# --- the C library asks
if [ -n "$LIBRARY" ]; then
  echo "nameserver $LIBRARY" > resolv.conf
  resolve() { unshare -m bash -c "mount --bind '$WORK/resolv.conf' /etc/resolv.conf && getent ahosts $1"; }
  expect 0 "127.0.0.1" resolve web.service.drover
  expect 2 "" resolve none.service.drover
fi

# --- the server is away, and comes back
kill -9 "$SERVER"
eventually 10 "the server lives" gone "$SERVER"
expect 0 "SRV 1 1 " ask web.service.drover SRV
eventually 10 "a name is denied without servers" says "^SERVFAIL$" unknown.service.drover
run_agent server
SERVER=$AGENT
eventually 30 "the node is not back" bash -c "'$DROVER' node status | grep -q ' ready$'"
expect 0 "" "$DROVER" job scale -detach web 2
eventually 60 "it is not followed any more" counts 2 SRV web.service.drover
for text in nomad.dns.answers nomad.dns.questions nomad.dns.dropped '"SERVFAIL"'; do
  expect 0 "$text" env "NOMAD_ADDR=http://127.0.0.1:$CLIENT_HTTP" "$DROVER" operator api /v1/metrics
done
expect 0 "" "$DROVER" job stop -detach web
eventually 30 "a stopped service is named" says '^NXDOMAIN aa' web.service.drover
kill -9 "$CLIENT" "$SERVER"
eventually 10 "the agents live" gone "$CLIENT"
eventually 10 "the agents live" gone "$SERVER"

# --- access control: the node as itself, a server as nobody, or by its token
rm -rf server-data client-data
server_config server "$HTTP" "$RPC" < <(with_lines "addresses = [\"127.0.0.1:$SERVER_DNS\"]" "token_file = \"$WORK/token\"")
printf 'acl {\n  enabled = true\n}\n' | tee -a server.hcl >> client.hcl
echo "00000000-0000-0000-0000-000000000000" > token
run_agent server
SERVER=$AGENT
eventually 20 "no leader" "$DROVER" operator api /v1/status/leader
eventually 20 "no bootstrap" bash -c "'$DROVER' acl bootstrap > '$WORK/boot'"
NOMAD_TOKEN=$(field "Secret ID" < boot)
export NOMAD_TOKEN
run_agent client
CLIENT=$AGENT
eventually 30 "no ready node" node_is_ready
expect 0 "Successfully" "$DROVER" namespace apply prod
expect 0 "Job registration successful" "$DROVER" job run -detach web.hcl
sed 's/job "web" {/&\n  namespace = "prod"/' web.hcl > prod.hcl
expect 0 "Job registration successful" "$DROVER" job run -detach prod.hcl
eventually 30 "a node does not see its services" counts 2 SRV web.service.drover
eventually 30 "a node does not see those of other namespaces" counts 2 SRV web.service.prod.ns.drover
server_says() { "$DNS_ASK" 127.0.0.1 "$SERVER_DNS" "$1" SRV | tee answer | grep -q -- "$2" || { cat answer; return 1; }; }
eventually 10 "a token that is none finds services" server_says web.service.drover '^REFUSED$'
cat > read.hcl << 'POLICY'
namespace "default" {
  policy = "read"
}
POLICY
expect 0 "" "$DROVER" acl policy apply read read.hcl
"$DROVER" acl token create -name=dns -policy=read | field "Secret ID" > token
eventually 30 "the new token does not count" server_says web.service.drover ' SRV 1 1 '
eventually 10 "a token finds what it may not see" server_says web.service.prod.ns.drover '^NXDOMAIN'
grep -qF "$(cat token)" server.log client.log && fail "the token is in a log"
passed
