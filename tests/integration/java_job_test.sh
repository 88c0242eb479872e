#!/usr/bin/env bash
# The job of Java in docs/operator/drivers.md under a real agent, on the machine's Java in the default root.
. "$(dirname "$0")/lib.sh"
: "${MAKE_JAR:?names the program that writes a jar}"
[ "$(id -u)" = 0 ] || { echo "missing: root"; exit 77; }
command -v java > /dev/null || { echo "missing: java (the package openjdk-17-jre-headless)"; exit 77; }
PAGE=$(dirname "$0")/../../docs/operator/drivers.md

config one < /dev/null
start one
cd "$WORK" || exit 1
NODE=$("$DROVER" node status | awk '/ ready$/ { print $1 }')
has_java() { "$DROVER" node status -verbose "$NODE" | grep -q "driver.java.version *= *$(java -version 2>&1 | sed -n 's/.*version "\([^"]*\)".*/\1/p')\$"; }
eventually 20 "the node does not tell the version of its Java" has_java

# The jar comes as the page's does, from a server of this test.
mkdir served
"$MAKE_JAR" served/greeting.jar || fail "no jar"
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout key.pem -out cert.pem -days 2 \
  -subj /CN=localhost 2> /dev/null || fail "openssl makes no certificate"
PORT=$(free_port)
(cd served && exec openssl s_server -quiet -WWW -accept "127.0.0.1:$PORT" -key ../key.pem -cert ../cert.pem > /dev/null 2>&1) &
SERVER=$!
trap 'kill "$SERVER" 2> /dev/null; clean_up' EXIT
answers() { (exec 3<> "/dev/tcp/127.0.0.1/$PORT"); }
eventually 10 "the server of files does not answer" answers

indented_example 'job "greeting"' "$PAGE" | sed "s#https://releases.example.com#https://127.0.0.1:$PORT#; s#artifact {#&\n        insecure = true#" > greeting.hcl
expect 0 "" "$DROVER" job run -detach greeting.hcl
ended() { ALLOC=$("$DROVER" job status greeting | awk '/^Allocations/ { found = 1 } found && / complete / { print $1; exit }') && [ -n "$ALLOC" ]; }
eventually 60 "the page's job does not end" ended
expect 0 "hello from Java" "$DROVER" alloc logs "$ALLOC"

# A job that names nothing to run is told so.
sed 's/"greeting"/"empty"/; /jar_path/d' greeting.hcl > empty.hcl
expect 0 "" "$DROVER" job run -detach empty.hcl
refused() { local alloc; alloc=$("$DROVER" job status empty | awk '/^Allocations/ { found = 1; getline; next } found { print $1; exit }') && tells "$alloc" 'jar_path or class must be specified'; }
eventually 30 "the missing option is not named" refused
passed
