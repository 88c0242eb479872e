#!/usr/bin/env bash
# Artifacts of tasks on a real agent: the example of docs/operator/artifacts.md, and what goes wrong.
. "$(dirname "$0")/lib.sh"
PAGE=$(dirname "$0")/../../docs/operator/artifacts.md

config one <<< "$RAW_EXEC"
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
example_of "$PAGE" | sed "s#https://releases.example.com#https://127.0.0.1:$PORT#;
  s#sha256:[0-9a-f]*#sha256:$(sha256sum served/app.tgz | cut -d' ' -f1)#; s#mode  *= \"any\"#insecure = true#" > web.hcl
expect 0 "Job registration successful" "$DROVER" job run -detach web.hcl
eventually 20 "web is not placed" has_alloc web
alloc=$(alloc_of web)
eventually 20 "the program of the archive does not run" prints "$alloc" "hello from .*local/app/run.sh"
expect 0 "Client is downloading artifacts" "$DROVER" alloc status "$alloc"

# --- what goes wrong
show='cat local/settings; exec sleep 1000'
fetch() { # NAME ARTIFACT
  once_job "$1" "$show" "artifact {
        insecure = true
        $2
      }"
}
fetch sum "source = \"https://127.0.0.1:$PORT/settings\"
        options {
          checksum = \"md5:00000000000000000000000000000000\"
        }"
eventually 20 "the checksum is not looked at" tells "$ALLOC" "Checksums did not match: expected md5:0000"
once_job shared 'cat $NOMAD_ALLOC_DIR/one $NOMAD_ALLOC_DIR/two; exec sleep 1000' "artifact {
        insecure    = true
        mode        = \"file\"
        source      = \"https://127.0.0.1:$PORT/settings\"
        destination = \"../alloc/one\"
      }
      template {
        data        = \"beside it\"
        destination = \"../alloc/two\"
      }"
eventually 20 "the artifact is not in the shared folder" prints "$ALLOC" "level = 3"
eventually 20 "the template is not in the shared folder" prints "$ALLOC" "beside it"
expect 1 "the path leaves the task's folder" "$DROVER" job validate <(sed 's#\.\./alloc/one#../alloc/../../one#' shared.hcl)
fetch scheme 'source = "file:///etc/passwd"'
eventually 20 "a file of the machine is fetched" tells "$ALLOC" "download not supported for scheme 'file'"
fetch trust "source = \"https://127.0.0.1:$PORT/settings\""
sed -i 's/insecure = true//' trust.hcl
expect 0 "Job registration successful" "$DROVER" job run -detach trust.hcl
untrusted() { "$DROVER" job status trust | awk '/^Allocations/ {found = 1; getline; next} found {print $1}' | while read -r one; do tells "$one" "certificate" && echo yes; done | grep -q yes; }
eventually 20 "a certificate that nobody signed is trusted" untrusted

# --- a server that is away for a moment: the restart policy tries again
kill "$SERVER"
sed "s#attempts = 0#attempts = 20\n      delay    = \"1s\"#; s#mode     = \"fail\"#interval = \"10m\"#; s#reschedule {#reschedule {\n#" sum.hcl |
  sed "s/\"sum\"/\"later\"/; /options {/,/}/d" > later.hcl
expect 0 "Job registration successful" "$DROVER" job run -detach later.hcl
eventually 20 "later is not placed" has_alloc later
ALLOC=$(alloc_of later)
eventually 20 "the failure is not shown" tells "$ALLOC" "Failed Artifact Download"
serve
eventually 30 "the download is not tried again" prints "$ALLOC" "level = 3"
for name in web sum scheme trust later; do expect 0 "" "$DROVER" job stop -purge -detach "$name"; done
passed
