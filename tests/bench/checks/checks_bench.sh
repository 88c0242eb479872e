#!/usr/bin/env bash
# Many checks on one node: COUNT of them, half http and half tcp, every ten seconds, to a server that answers at once.
# Tells the agent's threads and its share of a processor, beside the same agent with the same allocations and no checks.
#   checks_bench.sh [COUNT]     3000
set -u
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
export DROVER=${DROVER:-$HERE/../../../build-release/bin/drover}
. "$HERE/../../integration/lib.sh"
COUNT=${1:-3000}
EACH=30        # checks of an allocation
MEASURED=20    # seconds

cat > "$WORK/server.py" << 'PYTHON'
import asyncio, sys
async def answer(reader, writer):
    if await reader.read(4096): writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
    writer.close()
async def main():
    async with await asyncio.start_server(answer, "127.0.0.1", int(sys.argv[1]), backlog=1024) as server:
        await server.serve_forever()
asyncio.run(main())
PYTHON
PORT=$(free_port)
python3 "$WORK/server.py" "$PORT" &
AGENTS+=("$!")

check() { # NUMBER
  local type='type = "tcp"'
  [ $(($1 % 2)) -eq 0 ] || type='type = "http"
        path = "/"'
  printf '      check {\n        name = "c%s"\n        %s\n' "$1" "$type"
  printf '        interval = "10s"\n        timeout  = "2s"\n      }\n'
}
job() { # CHECKS OF AN ALLOCATION
  local i
  printf 'job "many" {\n  group "g" {\n    count = %s\n' $((COUNT / EACH))
  printf '    update {\n      max_parallel = 0\n    }\n'
  printf '    service {\n      name     = "s"\n      provider = "nomad"\n'
  printf '      address  = "127.0.0.1"\n      port     = "%s"\n' "$PORT"
  for ((i = 0; i < $1; i++)); do check "$i"; done
  printf '    }\n    task "t" {\n      driver = "mock_driver"\n      config {\n        run_for = "1h"\n      }\n'
  printf '      resources {\n        cpu    = 1\n        memory = 10\n      }\n    }\n  }\n}\n'
}
running() { [ "$("$DROVER" job status many | grep -c ' run .* running ')" -ge $((COUNT / EACH)) ]; }
passing() {
  local id
  for id in $("$DROVER" job status many | awk '/ run .* running / { print $1 }'); do
    "$DROVER" alloc checks "$id"
  done | grep -c '^Status *= success'
}
all_pass() { [ "$(passing)" -ge "$COUNT" ]; }
jiffies() { awk '{ print $14 + $15 }' "/proc/$AGENT/stat"; }
measure() { # WHAT
  local before after
  before=$(jiffies)
  read -r -t "$MEASURED" -u "$NEVER" || true
  after=$(jiffies)
  awk -v used=$((after - before)) -v hz="$(getconf CLK_TCK)" -v s="$MEASURED" -v what="$1" \
    -v threads="$(ls "/proc/$AGENT/task" | wc -l)" \
    'BEGIN { printf "%-24s %4d threads   %5.1f %% of one processor\n", what, threads, 100 * used / hz / s }'
}
config one << MORE
client {
  cpu_total_compute = 10000000
  memory_total_mb   = 10000000
  disk_free_mb      = 100000000
  disk_total_mb     = 100000000
  gc_max_allocs     = 100000
}

MORE
start one
job 0 > "$WORK/none.hcl"
job "$EACH" > "$WORK/many.hcl"
"$DROVER" job run -detach "$WORK/none.hcl" > /dev/null || fail "the job is refused"
eventually 60 "the allocations do not run" running
measure "no checks"
"$DROVER" job run -detach "$WORK/many.hcl" > /dev/null || fail "the job is refused"
eventually 90 "not all checks pass" all_pass
measure "$COUNT checks"
cat "/proc/$AGENT"/task/*/comm | grep '^checks' | sort | uniq -c | sed 's/^ *\([0-9]*\) \(.*\)/  thread \2: \1/'
