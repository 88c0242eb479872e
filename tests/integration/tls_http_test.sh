#!/usr/bin/env bash
# The HTTP API over TLS: certificates by `drover tls`, an agent and a node that use them everywhere, commands with the
# right files and with wrong ones, new files under open connections, clients that must show a certificate.
. "$(dirname "$0")/lib.sh"
PAGE=$(cd "$(dirname "$0")/../.." && pwd)/docs/operator/tls.md
mkdir "$WORK/bin" "$WORK/certs" "$WORK/other"
ln -s "$DROVER" "$WORK/bin/drover"
export PATH=$WORK/bin:$PATH
unset NOMAD_REGION

# --- certificates, by the commands that the page shows

cd "$WORK/certs" || exit 1
indented_example "drover tls ca create" "$PAGE" > "$WORK/page"
[ "$(grep -c '^drover tls' "$WORK/page")" = 4 ] || fail "the page's commands: $(cat "$WORK/page")"
expect 0 "==> CLI Certificate key saved to: global-cli-nomad-key.pem" bash -e "$WORK/page"
for file in nomad-agent-ca global-server-nomad global-client-nomad global-cli-nomad; do
  [ -s "$file.pem" ] && [ "$(stat -c %a "$file-key.pem")" = 600 ] || fail "$file: $(ls -l)"
done
expect 1 "CA certificate file 'nomad-agent-ca.pem' already exists" drover tls ca create
expect 1 "Certificate file 'global-server-nomad.pem' already exists" drover tls cert create -server
mv global-cli-nomad.pem kept.pem
expect 1 "Certificate key file 'global-cli-nomad-key.pem' already exists" drover tls cert create -cli
mv kept.pem global-cli-nomad.pem
expect 1 "Please provide either -server, -client, or -cli" drover tls cert create
expect 1 "Please provide either -server, -client, or -cli" drover tls cert create -server -cli
expect 1 "\"a b\" is no DNS name" drover tls cert create -client -cluster-region=x -additional-dnsname="a b"
expect 1 "\"1.2\" is no IP address" drover tls cert create -client -cluster-region=x -additional-ipaddress=1.2
expect 1 "-days is \"0\"" drover tls cert create -client -cluster-region=x -days=0
expect 1 "cannot stand in a DNS name" drover tls cert create -client -region=../x
expect 1 "which is no DNS name" drover tls ca create -domain=../x
expect 1 "-additional-domain needs -name-constraint" drover tls ca create -domain=x -additional-domain=y
expect 1 "missing-agent-ca.pem cannot be read" drover tls cert create -client -domain=missing
expect 0 "Permitted DNS Domains = <none>" drover tls ca info nomad-agent-ca.pem
expect 0 "Common Name           = Nomad Agent CA " drover tls ca info nomad-agent-ca.pem
expect 0 "DNS Names     = server.global.nomad localhost" drover tls cert info global-server-nomad.pem
expect 0 "IP Addresses  = 127.0.0.1" drover tls cert info global-server-nomad.pem
expect 1 "is no authority's certificate" drover tls ca info global-server-nomad.pem
expect 1 "it holds no certificate in PEM" drover tls cert info global-server-nomad-key.pem
expect 0 "CA certificate saved to: acme-agent-ca.pem" drover tls ca create -domain=acme -name-constraint -common-name="Acme" -organization=Acme
expect 0 "Permitted DNS Domains = localhost nomad acme" drover tls ca info acme-agent-ca.pem
expect 0 "Server Certificate saved to: eu-server-acme.pem" drover tls cert create -server -domain=acme -region=eu
expect 0 "DNS Names     = server.eu.acme server.eu.nomad localhost" drover tls cert info eu-server-acme.pem
expect 1 "permitted subtree violation" drover tls cert create -client -domain=acme -additional-dnsname=www.example
[ ! -e global-client-acme.pem ] && [ ! -e global-client-acme-key.pem ] || fail "a refusal leaves files: $(ls)"
(cd "$WORK/other" && drover tls ca create && drover tls cert create -cli) > /dev/null || fail "no other authority"

# --- an agent with TLS everywhere

tls() { # KIND [LINES]
  printf 'tls {\n  http      = true\n  rpc       = true\n  ca_file   = "%s"\n  cert_file = "%s"\n  key_file  = "%s"\n%s\n}\n' \
    "$WORK/certs/nomad-agent-ca.pem" "$WORK/certs/$1.pem" "$WORK/certs/$1-key.pem" "${2:-}"
}
config one < <(tls global-server-nomad && echo "$RAW_EXEC" && printf 'limits {\n  https_handshake_timeout = "1s"\n  rpc_handshake_timeout = "1s"\n}\n')
plain=$NOMAD_ADDR
export NOMAD_ADDR=https://127.0.0.1:$HTTP NOMAD_CACERT=$WORK/certs/nomad-agent-ca.pem
start one
client_config two "$(free_port)" "$RPC" < <(tls global-client-nomad)
run_agent two
two_ready() { drover node status | grep -q 'two .* ready$'; }
eventually 30 "the node that came over TLS is not ready" two_ready
tells_tls() { drover operator api "/v1/node/$(drover node status -verbose | awk '/ two / { print $1 }')" | grep -q '"TLSEnabled": *true'; }
eventually 10 "the node does not tell of TLS" tells_tls

NOMAD_CACERT= expect 1 "set -ca-cert or NOMAD_CACERT" drover node status
NOMAD_CACERT=$WORK/other/nomad-agent-ca.pem expect 1 "is not good by" drover node status
expect 1 "set -tls-server-name or NOMAD_TLS_SERVER_NAME" drover node status -tls-server-name=server.eu.nomad
expect 0 "two" drover node status -tls-server-name=server.global.nomad
expect 0 "two" env NOMAD_CACERT= "$DROVER" node status -tls-skip-verify
NOMAD_ADDR=$plain expect 1 "set -address or NOMAD_ADDR to https://127.0.0.1:$HTTP" drover node status
exec {PLAIN}<> "/dev/tcp/127.0.0.1/$HTTP"
printf 'GET /v1/jobs HTTP/1.1\r\nHost: x\r\n\r\n' >&"$PLAIN"
ANSWER=$(timeout 10 cat <&"$PLAIN")
exec {PLAIN}>&-
case $ANSWER in "HTTP/1.1 400 "*"Client sent an HTTP request to an HTTPS server.") ;; *) fail "plain HTTP gets: $ANSWER" ;; esac
for port in "$HTTP" "$RPC"; do
  exec {SILENT}<> "/dev/tcp/127.0.0.1/$port"
  timeout 10 cat <&"$SILENT" > /dev/null || fail "a silent connection to port $port stays open"
  exec {SILENT}>&-
done

# Streams, uploads and commands inside tasks.
cat > "$WORK/shell.nomad" << 'JOB'
job "shell" {
  group "g" {
    task "t" {
      driver = "raw_exec"
      config {
        command = "/bin/sh"
        args    = ["-c", "echo it runs; exec sleep 1000"]
      }
      resources {
        cpu    = 20
        memory = 16
      }
    }
  }
}
JOB
expect 0 "" drover job run -detach "$WORK/shell.nomad"
runs() { ALLOC=$(alloc_of shell) && [ -n "$ALLOC" ] && drover alloc logs "$ALLOC" | grep -q 'it runs'; }
eventually 30 "the task does not run" runs
expect 0 "inside" drover alloc exec "$ALLOC" /bin/echo inside
[ "$(head -c 200000 /dev/zero | drover alloc exec "$ALLOC" /bin/cat | wc -c)" = 200000 ] || fail "input does not come back over TLS"
expect 0 "" drover operator snapshot save "$WORK/state.snap"
expect 0 "" drover operator snapshot restore "$WORK/state.snap"
eventually 30 "no ready node after the state was restored" two_ready

# --- new files, with connections open

"$DROVER" monitor -log-level=DEBUG > "$WORK/monitor.out" 2>&1 &
MONITOR=$!
AGENTS+=("$MONITOR")
disown "$MONITOR"
# A request is a line at DEBUG: there is something to say.
monitors() { drover operator api /v1/status/leader > /dev/null; grep -q "$1" "$WORK/monitor.out"; }
eventually 10 "the monitor says nothing" monitors .
expect 1 "is for another name" drover node status -tls-server-name=renewed.example
rm global-server-nomad.pem global-server-nomad-key.pem
drover tls cert create -server -additional-dnsname=renewed.example > /dev/null 2>&1 || fail "no new certificate"
kill -HUP "${AGENTS[0]}"
eventually 10 "the new certificate is not shown" drover node status -tls-server-name=renewed.example
eventually 10 "the open connection hears no more" monitors "files of TLS were read again"
gone "$MONITOR" && fail "the open connection has ended"
mv global-server-nomad-key.pem kept.pem
cp global-client-nomad-key.pem global-server-nomad-key.pem
kill -HUP "${AGENTS[0]}"
eventually 10 "a wrong key is not told" logged one "those of before stay.*is not the key of the certificate"
expect 0 "two" drover node status -tls-server-name=renewed.example
mv kept.pem global-server-nomad-key.pem

# --- clients must show a certificate

config three < <(tls global-server-nomad '  verify_https_client = true
  tls_min_version = "tls13"')
export NOMAD_ADDR=https://127.0.0.1:$HTTP
run_agent three
mine=(-client-cert "$WORK/certs/global-cli-nomad.pem" -client-key "$WORK/certs/global-cli-nomad-key.pem")
three_ready() { drover node status "${mine[@]}" | grep -q ' ready$'; }
eventually 30 "no ready node for who shows a certificate" three_ready
expect 1 "set -client-cert and -client-key" drover node status
expect 1 "it does not accept the certificate" drover node status -client-cert "$WORK/other/global-cli-nomad.pem" -client-key "$WORK/other/global-cli-nomad-key.pem"

# --- what is refused before anything is served

refused() { # TEXT LINES: of the block tls
  config bad < <(tls global-server-nomad "$2")
  expect 1 "$1" timeout 30 "$DROVER" agent -config "$WORK/bad.hcl"
}
refused 'unsupported TLS version "tls10"' '  tls_min_version = "tls10"'
refused 'unsupported TLS cipher "TLS_RSA_WITH_AES_128_CBC_SHA"' '  tls_cipher_suites = "TLS_RSA_WITH_AES_128_CBC_SHA"'
refused 'none of them goes with the key' '  tls_cipher_suites = "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"'
refused 'connections in the clear beside encrypted ones' '  rpc_upgrade_mode = true'
config idle << CONFIG
tls {
  tls_min_version = "tls13"
  cert_file       = "/nowhere"
}
CONFIG
run_agent idle
eventually 20 "an option without effect is not told" logged idle "tls.tls_min_version without tls.http"
expect 0 "tls.cert_file without tls.http and tls.rpc" grep "without effect" "$WORK/idle.log"
config bad <<< 'tls { verify_https_client = true }'
expect 1 "tls.verify_https_client needs tls.http" timeout 30 "$DROVER" agent -config "$WORK/bad.hcl"
grep -l "PRIVATE KEY" "$WORK"/*.log && fail "a private key stands in a log"
passed
