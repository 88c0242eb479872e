#!/usr/bin/env bash
# Artifacts on one node: a large file, and a tar.gz of many files, through the sandboxed fetch of a task's artifact, beside
# curl and tar from the same server in the same run. The times of the agent are its events': from the beginning of the
# download to the start of the task. Needs python3, which serves the files.
#   artifact_bench.sh [MEGABYTES [FILES [ROUNDS]]]     256 5000 3
set -u
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
export DROVER=${DROVER:-$HERE/../../../build-release/bin/drover}
. "$HERE/../../integration/lib.sh"
MEGABYTES=${1:-256} FILES=${2:-5000} ROUNDS=${3:-3}

mkdir -p "$WORK/served" "$WORK/many" "$WORK/peer"
head -c "$((MEGABYTES << 20))" /dev/urandom > "$WORK/served/large"
for ((i = 0; i < FILES; i++)); do
  [ $((i % 100)) -ne 0 ] || mkdir -p "$WORK/many/$((i / 100))"
  head -c 16384 /dev/urandom | base64 -w 64 > "$WORK/many/$((i / 100))/$i"
done
tar -czf "$WORK/served/many.tar.gz" -C "$WORK" many
unpacked=$(($(du -sb "$WORK/many" | cut -f1) / 1000000)) large=$((MEGABYTES * 1048576 / 1000000))
PORT=$(free_port)
python3 -m http.server -b 127.0.0.1 -d "$WORK/served" "$PORT" > /dev/null 2>&1 &
SERVER=$!
trap 'kill "$SERVER" 2> /dev/null; clean_up' EXIT
answers() { (exec 3<> "/dev/tcp/127.0.0.1/$PORT"); }
eventually 10 "the server of files does not answer" answers

config one << MORE
client {
  artifact {
    decompression_file_count_limit = $((FILES * 2))
  }
}
$RAW_EXEC
MORE
start one
cd "$WORK" || exit 1
now_ms() { echo $(($(date +%s%N) / 1000000)); }
median() { sort -n | awk '{ all[NR] = $1 } END { print all[int((NR + 1) / 2)] }'; }
# Milliseconds between two of a task's events, once there are both.
between() { # ALLOCATION
  "$DROVER" operator api "/v1/allocation/$1" | python3 -c '
import json, sys
times = {e["Type"]: e["Time"] for e in json.load(sys.stdin)["TaskStates"]["t"]["Events"]}
print((times["Started"] - times["Downloading Artifacts"]) // 1000000)' 2> /dev/null
}
started() { between "$1" | grep -q .; }
fetched() { # NAME FILE
  once_job "$1" 'exec sleep 1000' "artifact {
        source = \"http://127.0.0.1:$PORT/$2\"
      }"
  ALLOC=$("$DROVER" operator api "/v1/job/$1/allocations" | sed -n 's/.*"ID": "\(.*\)".*/\1/p' | head -n 1)
  eventually 300 "$1 does not start" started "$ALLOC"
  between "$ALLOC" >> "$WORK/ms-$2"
  "$DROVER" job stop -purge -detach "$1" > /dev/null
  "$DROVER" system gc > /dev/null
}
peer() { # FILE COMMAND
  local began
  rm -rf "$WORK/peer/"*
  began=$(now_ms)
  (cd "$WORK/peer" && bash -c "$2") || fail "$2"
  echo $(($(now_ms) - began)) >> "$WORK/peer-$1"
}
for ((round = 1; round <= ROUNDS; round++)); do
  peer large "curl -s -o large http://127.0.0.1:$PORT/large"
  fetched "large-$round" large
  peer many.tar.gz "curl -s -o many.tar.gz http://127.0.0.1:$PORT/many.tar.gz && tar xzf many.tar.gz"
  fetched "many-$round" many.tar.gz
done
show() { # WHAT MEGABYTES FILE
  awk -v what="$1" -v mb="$2" -v ms="$(median < "$WORK/ms-$3")" -v peer="$(median < "$WORK/peer-$3")" \
    'BEGIN { printf "%-34s %8d %12.0f %12.0f %10.2f\n", what, mb, 1000 * mb / ms, 1000 * mb / peer, ms / peer }'
}
printf '%-34s %8s %12s %12s %10s\n' '' MB 'agent MB/s' 'peer MB/s' 'time / it'
show 'a file; curl' "$large" large
show "$FILES files; curl and tar xzf" "$unpacked" many.tar.gz
