#!/usr/bin/env bash
# Checks of services with a real agent: deployments that wait for them, one that fails and reverts, tasks that are
# restarted, results for people, and all of it after kill -9.
. "$(dirname "$0")/lib.sh"
PAGE=$(realpath "$(dirname "$0")/../../docs/operator/checks.md")
cd "$WORK" || exit 1
command -v python3 > /dev/null || { echo "SKIPPED: needs python3, which answers the checks"; exit 77; }

# Answers 200 while the file beside it says so, 503 otherwise.
cat > "$WORK/web.py" << 'PYTHON'
import http.server, os, sys
class Web(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        good = self.path.startswith("/ok") or (self.path.startswith("/file") and os.path.exists(sys.argv[2]))
        self.send_response(200 if good else 503)
        self.end_headers()
        self.wfile.write(b"fine" if good else b"out of order")
    def log_message(self, *args): pass
http.server.ThreadingHTTPServer(("", int(sys.argv[1])), Web).serve_forever()
PYTHON

# job NAME PATH EXTRA: a service whose http check asks for PATH.
job() {
  cat > "$1.hcl" << JOB
job "$1" {
  group "g" {
    network {
      port "http" {}
    }
    update {
      min_healthy_time  = "1s"
      healthy_deadline  = "8s"
      progress_deadline = "20s"
      auto_revert       = true
    }
    reschedule {
      attempts  = 0
      unlimited = false
    }
    service {
      name     = "$1-web"
      provider = "nomad"
      port     = "http"
      check {
        name     = "answers"
        type     = "http"
        path     = "$2"
        interval = "1s"
        timeout  = "2s"
        ${3:-}
      }
    }
    task "t" {
      driver = "raw_exec"
      config {
        command = "python3"
        args    = ["$WORK/web.py", "\${NOMAD_PORT_http}", "$WORK/$1.good"]
      }
      service {
        name     = "$1-task"
        provider = "nomad"
        port     = "http"
        check {
          name     = "script"
          type     = "script"
          command  = "/bin/sh"
          args     = ["-c", "echo looked; exit 0"]
          interval = "1s"
          timeout  = "2s"
        }
        check {
          name     = "connects"
          type     = "tcp"
          interval = "1s"
          timeout  = "2s"
        }
      }
    }
  }
}
JOB
}
mkdir "$WORK/plugins"
[ -z "${REDIS_PING:-}" ] || cp "$REDIS_PING/redis_ping-plugin" "$WORK/plugins/"
config agent << MORE
plugin_dir = "$WORK/plugins"
$RAW_EXEC
MORE
start agent

job_deployment_is() {
  "$DROVER" job deployments "$1" | grep -q " $2 " || { "$DROVER" job deployments "$1"; return 1; }
}
tells_check() { "$DROVER" alloc checks "$1" | grep -q -- "$2"; }
check_is() {
  "$DROVER" alloc checks "$1" | tr -s ' ' | grep -A4 "^Name = $2$" | grep -q "^Status = $3$" ||
    { "$DROVER" alloc checks "$1"; return 1; }
}

# A deployment becomes healthy by its checks.
job good /ok
expect 0 "" "$DROVER" job run -detach good.hcl
eventually 30 "the deployment is not successful" job_deployment_is good successful
ALLOC=$(alloc_of good)
expect 0 "Nomad Service Checks" "$DROVER" alloc status "$ALLOC"
expect 0 "nomad: http ok" "$DROVER" alloc checks "$ALLOC"
expect 0 "nomad: tcp ok" "$DROVER" alloc checks "$ALLOC"
expect 0 "looked" "$DROVER" alloc checks "$ALLOC"
eventually 10 "the script does not pass" check_is "$ALLOC" script success
ID=$("$DROVER" alloc status -json "$ALLOC" | sed -n 's/^ *"ID": *"\([0-9a-f-]\{36\}\)".*/\1/p' | head -n 1)
for path in client/allocation allocation; do
  expect 0 '"Mode"' "$DROVER" operator api "/v1/$path/$ID/checks"
done
expect 1 "Unknown allocation" "$DROVER" operator api /v1/client/allocation/00000000-0000-0000-0000-000000000000/checks

# One whose check fails is unhealthy at its deadline, says why, and goes back to the version before.
job good /broken
expect 0 "" "$DROVER" job run -detach good.hcl
eventually 40 "the deployment has not failed" job_deployment_is good failed
eventually 10 "nobody says why" tells "$ALLOC" "Services not healthy by deadline: good-web"
reverted() { "$DROVER" job inspect good | grep -q '"Path": *"/ok"'; }
eventually 30 "the job has not been reverted" reverted
eventually 40 "the old version does not run" job_deployment_is good successful

# check_restart restarts the task, as a failure.
job sick /file "check_restart {
          limit = 2
          grace = \"4s\"
        }"
touch sick.good
expect 0 "" "$DROVER" job run -detach sick.hcl
eventually 30 "the deployment is not successful" job_deployment_is sick successful
ALLOC=$(alloc_of sick)
rm sick.good
eventually 10 "the check does not fail" check_is "$ALLOC" answers failure
expect 0 "out of order" "$DROVER" alloc checks "$ALLOC"
eventually 20 "no restart" tells "$ALLOC" 'Restart Signaled.*healthcheck: check "answers" unhealthy'
eventually 20 "not as a failure" tells "$ALLOC" "Restarting .*Task restarting in"
touch sick.good
eventually 40 "the check does not recover" check_is "$ALLOC" answers success

# One that waits to start has nothing to restart; once it runs the rule holds.
sed -e 's/"sick/"late/g' -e 's/sick\.good/late.good/' -e 's/grace = "4s"/grace = "1s"/' -e 's/limit = 2/limit = 1/' sick.hcl |
  sed 's|^      driver = "raw_exec"|      template {\n        destination = "local/v"\n        data        = "{{ with nomadVar \\"nomad/jobs/late\\" }}{{ .v }}{{ end }}"\n      }\n&|' > late.hcl
expect 0 "" "$DROVER" job run -detach late.hcl
late_waits() { LATE=$(alloc_of late) && tells "$LATE" "Missing: nomad.var.block"; }
eventually 30 "it does not wait for its variable" late_waits
eventually 30 "its check does not fail" check_is "$LATE" answers failure
LATE_ID=$("$DROVER" alloc status -json "$LATE" | sed -n 's/^ *"ID": *"\([0-9a-f-]\{36\}\)".*/\1/p' | head -n 1)
last_run() {  # of the check over http: the script's waits for its task
  "$DROVER" operator api "/v1/client/allocation/$LATE_ID/checks" |
    python3 -c 'import json, sys; print(*[c["Timestamp"] for c in json.load(sys.stdin).values() if c["Check"] == "answers"])'
}
FIRST=$(last_run)
has_run_on() { [ "$(last_run)" -ge $((FIRST + 4)) ] || { last_run; return 1; }; }
eventually 40 "its check does not go on" has_run_on
grep "a task whose check is unhealthy is restarted" agent.log | grep -q "$LATE_ID" && fail "one that waits is to be restarted"
expect 0 "" "$DROVER" var put nomad/jobs/late v=1
eventually 40 "no restart once it runs" tells "$LATE" 'Restart Signaled.*healthcheck: check "answers" unhealthy'
expect 0 "" "$DROVER" job stop -detach late

# After kill -9 the results are there at once, and the checks go on.
kill -9 "$AGENT"
eventually 5 "it lives" gone "$AGENT"
start agent
eventually 10 "the results are gone" check_is "$ALLOC" answers success
rm sick.good
eventually 10 "nobody looks any more" check_is "$ALLOC" answers failure
touch sick.good

# A check without an address says so, and its allocation ends when it is told to.
job lost /ok
sed 's/type     = "tcp"/&\n          address_mode = "alloc"/' lost.hcl > nowhere.hcl
expect 0 "" "$DROVER" job run -detach nowhere.hcl
eventually 20 "no allocation" has_alloc lost
LOST=$(alloc_of lost)
eventually 20 "nobody says why" tells_check "$LOST" "the check could not run: unable to get address"
eventually 20 "it does not run" tells "$LOST" "^Client Status *= running"
expect 0 "" "$DROVER" job stop -detach lost
eventually 30 "it does not end" tells "$LOST" "^Client Status *= complete"

# A check of nobody's type, and what Nomad refuses, too.
sed 's/type     = "tcp"/type     = "ping"/' good.hcl > bad.hcl
expect 1 'invalid check type ("ping"), must be one of tcp, http, grpc, script' "$DROVER" job run -detach bad.hcl
sed 's/interval = "1s"/interval = "500ms"/' good.hcl > bad.hcl
expect 1 "interval (500ms) cannot be lower than 1s" "$DROVER" job run -detach bad.hcl
sed 's/path     = "/success_before_passing = 2\n        path = "/' good.hcl > bad.hcl
expect 1 "success_before_passing may only be set for Consul service checks" "$DROVER" job run -detach bad.hcl

# A type that a plugin brings, with options of its own: the example is a program that the agent starts.
if [ -n "${REDIS_PING:-}" ]; then
  cat > redis.py << 'PYTHON'
import socketserver, sys
class Redis(socketserver.BaseRequestHandler):
    def handle(self):
        self.request.recv(100)
        self.request.sendall(b"+PONG\r\n")
class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
Server(("", int(sys.argv[1])), Redis).serve_forever()
PYTHON
  cat > redis.hcl << JOB
job "redis" {
  group "g" {
    network {
      port "db" {}
    }
    service {
      name     = "redis"
      provider = "nomad"
      port     = "db"
      check {
        name     = "pong"
        type     = "redis"
        interval = "1s"
        timeout  = "2s"
        config {
          expect = "+PONG"
        }
      }
    }
    task "t" {
      driver = "raw_exec"
      config {
        command = "python3"
        args    = ["$WORK/redis.py", "\${NOMAD_PORT_db}"]
      }
    }
  }
}
JOB
  takes_redis() { "$DROVER" job run -detach redis.hcl; }
  eventually 45 "no node runs checks of the type redis" takes_redis
  eventually 20 "no allocation" has_alloc redis
  eventually 20 "the check does not pass" check_is "$(alloc_of redis)" pong success
  expect 0 "+PONG" "$DROVER" alloc checks "$(alloc_of redis)"
  sed 's/expect = /expected = /' redis.hcl > wrong.hcl
  expect 0 "" "$DROVER" job run -detach wrong.hcl
  eventually 20 "nobody says that there is no such option" \
    tells_check "$(alloc_of redis)" "the check could not run: .*expected"
fi

# The example of docs/operator/checks.md; nobody answers it.
example_of "$PAGE" > example.hcl
expect 0 "" "$DROVER" job run -detach example.hcl
eventually 20 "no allocation" has_alloc web
eventually 20 "the check does not fail" check_is "$(alloc_of web)" answers failure
expect 0 "" "$DROVER" job stop -detach web

# Stopped: nothing is checked any more.
expect 0 "" "$DROVER" job stop -detach sick
eventually 20 "checks of an allocation that has ended" tells_check "$ALLOC" "No checks found"
passed
