#!/usr/bin/env bash
# The code by which Prometheus (nomad_sd_configs) and Traefik (providers.nomad) find services, before a real agent: they
# find the instances, and follow them up, down and away. Debian's Prometheus is built without it, so both are built here.
. "$(dirname "$0")/../../integration/lib.sh"
: "${PROGRAMS:?names a folder for the Go programs}"
HERE=$(realpath "$(dirname "$0")")

skip() { echo "skipped: $*"; exit 77; }
command -v go > /dev/null || skip "Go is missing (golang-go)"
mkdir -p "$PROGRAMS"
for program in prometheus traefik; do
  (cd "$HERE/$program" && go build -p 1 -buildvcs=false -o "$PROGRAMS/$program" .) > "$WORK/go.log" 2>&1 ||
    skip "$program's code cannot be built here: $(tail -n 1 "$WORK/go.log")"
done

config one <<< "$RAW_EXEC"
start one
cd "$WORK" || exit 1
for program in prometheus traefik; do
  "$PROGRAMS/$program" "$NOMAD_ADDR" > "$program.out" 2> "$program.log" &
  AGENTS+=("$!")
  disown $!
done

cat > web.hcl << 'JOB'
job "web" {
  group "g" {
    count = 2
    update {
      max_parallel = 0
    }
    network {
      port "http" {}
    }
    service {
      name     = "web"
      provider = "nomad"
      port     = "http"
      tags     = ["a", "traefik.enable=true", "traefik.http.routers.web.rule=Host(`a.example.org`) && Path(`/x`)"]
    }
    service {
      name     = "hidden"
      provider = "nomad"
      port     = 7000
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
# look PROGRAM: its last whole look.
look() { awk '/^$/ { last = now; now = "" ; next } { now = now $0 "\n" } END { printf "%s", last }' "$1.out"; }
# finds PROGRAM NUMBER TEXT: so many instances, all with that text.
finds() {
  look "$1" > found
  [ "$(wc -l < found)" = "$2" ] && [ "$(grep -c -- "$3" found)" = "$2" ] || { cat found "$1.log"; return 1; }
}
every() { # SERVICE: host:port of its instances, in order
  "$DROVER" operator api "/v1/service/$1" | awk -F'"' '/"Address"/ { at = $4 } /"Port"/ { gsub(/[^0-9]/, ""); print at ":" $0 }' | sort
}

expect 0 "Job registration successful" "$DROVER" job run -detach web.hcl
eventually 30 "Prometheus does not find all" finds prometheus 4 " default dc1$"
eventually 30 "Traefik does not find all" finds traefik 2 '^web http://.* Host(`a.example.org`) && Path(`/x`)$'
[ "$(look traefik | sed 's/.*http:\/\/\([^ ]*\) .*/\1/' | sort)" = "$(every web)" ] || fail "other addresses: $(look traefik)"
[ "$(look prometheus | awk '$1 == "web" { print $2 }' | sort)" = "$(every web)" ] || fail "other addresses: $(look prometheus)"
look prometheus | grep -q "^web .* ,a,traefik.enable=true,traefik.http.routers.web.rule=" || fail "other tags: $(look prometheus)"
CHECKS=$((CHECKS + 5))
for count in 4 1; do
  expect 0 "" "$DROVER" job scale -detach web "$count"
  eventually 30 "Prometheus does not follow" finds prometheus $((2 * count)) ""
  eventually 30 "Traefik does not follow" finds traefik "$count" ""
done
expect 0 "" "$DROVER" job stop -detach web
eventually 30 "Prometheus finds what has ended" finds prometheus 0 ""
eventually 30 "Traefik finds what has ended" finds traefik 0 ""
grep -i 'error\|err=' prometheus.log traefik.log && fail "they complain"
passed
