#!/usr/bin/env bash
# Artifacts of tasks on a real agent: the example of docs/operator/artifacts.md, and what goes wrong.
. "$(dirname "$0")/lib.sh"
PAGE=$(dirname "$0")/../../docs/operator/artifacts.md

config one << 'MORE'
plugin "raw_exec" {
  config {
    enabled = true
  }
}
MORE
start one
cd "$WORK" || exit 1

# --- a server of files, over TLS with a certificate of its own
mkdir -p served/app
printf '#!/bin/sh\necho "hello from $0"\nexec sleep 1000\n' > served/app/run.sh
chmod 755 served/app/run.sh
tar -czf served/app.tgz -C served app
printf 'level = 3\n' > served/settings
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout key.pem -out cert.pem -days 2 \
  -subj /CN=localhost 2> /dev/null || fail "openssl makes no certificate"
PORT=$(free_port)
serve() { (cd served && exec openssl s_server -quiet -WWW -accept "127.0.0.1:$PORT" -key ../key.pem -cert ../cert.pem > /dev/null 2>&1) & SERVER=$!; }
serve
trap 'kill "$SERVER" 2> /dev/null; clean_up' EXIT
answers() { (exec 3<> "/dev/tcp/127.0.0.1/$PORT"); }
eventually 10 "the server of files does not answer" answers

# --- the page's job, with the server of this test
awk '/^```hcl/ {inside = 1; next} /^```/ {exit} inside' "$PAGE" | sed "s#https://releases.example.com#https://127.0.0.1:$PORT#;
  s#sha256:[0-9a-f]*#sha256:$(sha256sum served/app.tgz | cut -d' ' -f1)#; s#mode  *= \"any\"#insecure = true#" > web.hcl
expect 0 "Job registration successful" "$DROVER" job run -detach web.hcl
alloc_of() { "$DROVER" job status "$1" | awk '/^Allocations/ {found = 1; getline; next} found {print $1; exit}'; }
is_there() { [ -n "$(alloc_of "$1")" ]; }
eventually 20 "web is not placed" is_there web
alloc=$(alloc_of web)
prints() { "$DROVER" alloc logs "$1" | grep -q "$2"; }
eventually 20 "the program of the archive does not run" prints "$alloc" "hello from .*local/app/run.sh"
expect 0 "Client is downloading artifacts" "$DROVER" alloc status "$alloc"

# --- what goes wrong
task() { # NAME ARTIFACT
  cat > "$1.hcl" << JOB
job "$1" {
  group "g" {
    restart {
      attempts = 0
      mode     = "fail"
    }
    reschedule {
      attempts  = 0
      unlimited = false
    }
    task "t" {
      driver = "raw_exec"
      config {
        command = "/bin/cat"
        args    = ["local/settings"]
      }
      artifact {
        insecure = true
        $2
      }
    }
  }
}
JOB
  expect 0 "Job registration successful" "$DROVER" job run -detach "$1.hcl"
  eventually 20 "$1 is not placed" is_there "$1"
  alloc=$(alloc_of "$1")
}
tells() { "$DROVER" alloc status "$1" | grep -qF "$2"; }
task sum "source = \"https://127.0.0.1:$PORT/settings\"
        options {
          checksum = \"md5:00000000000000000000000000000000\"
        }"
eventually 20 "the checksum is not looked at" tells "$alloc" "Checksums did not match: expected md5:0000"
task scheme 'source = "file:///etc/passwd"'
eventually 20 "a file of the machine is fetched" tells "$alloc" "download not supported for scheme 'file'"
task trust "source = \"https://127.0.0.1:$PORT/settings\""
sed -i 's/insecure = true//' trust.hcl
expect 0 "Job registration successful" "$DROVER" job run -detach trust.hcl
untrusted() { "$DROVER" job status trust | awk '/^Allocations/ {found = 1; getline; next} found {print $1}' | while read -r one; do tells "$one" "certificate" && echo yes; done | grep -q yes; }
eventually 20 "a certificate that nobody signed is trusted" untrusted

# --- a server that is away for a moment: the restart policy tries again
kill "$SERVER"
sed "s#attempts = 0#attempts = 20\n      delay    = \"1s\"#; s#mode     = \"fail\"#interval = \"10m\"#; s#reschedule {#reschedule {\n#" sum.hcl |
  sed "s/\"sum\"/\"later\"/; /options {/,/}/d; s#args    = .*#args    = [\"local/settings\", \"-\"]#" > later.hcl
expect 0 "Job registration successful" "$DROVER" job run -detach later.hcl
eventually 20 "later is not placed" is_there later
alloc=$(alloc_of later)
eventually 20 "the failure is not shown" tells "$alloc" "Failed Artifact Download"
serve
eventually 30 "the download is not tried again" prints "$alloc" "level = 3"
for name in web sum scheme trust later; do expect 0 "" "$DROVER" job stop -purge -detach "$name"; done
passed
