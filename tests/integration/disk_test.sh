#!/usr/bin/env bash
# Disks of tasks on real agents: secrets in memory, the host volume of docs/operator/disk.md, ephemeral disks that are kept on a node
# and that come from another one, and what a node forgets.
. "$(dirname "$0")/lib.sh"
[ "$(id -u)" = 0 ] || { echo "missing: root"; exit 77; }
PAGE=$(dirname "$0")/../../docs/operator/disk.md
# Tasks that are locked in know nothing of $WORK.
let_go() {
  local alloc
  for alloc in "$WORK"/*-data/alloc/*; do
    grep -l "^NOMAD_ALLOC_ID=${alloc##*/}" -z /proc/[0-9]*/environ 2> /dev/null | sed 's|/proc/||; s|/environ||' | xargs -r kill -9 2> /dev/null
  done
}
trap '[ -n "${KEEP_WORK:-}" ] || let_go; clean_up' EXIT

# --- a server that is a node, and a second node
config one << CONFIG
client {
  host_volume "site" {
    path = "$WORK/site"
  }
  host_volume "nowhere" {
    path = "$WORK/no-such-folder"
  }
}
$RAW_EXEC
CONFIG
mkdir "$WORK/site"
echo "welcome" > "$WORK/site/index.html"
start one
node_id() { "$DROVER" operator api "/v1/nodes?filter=Name==$1" | tr -d ' \n' | sed 's/.*"ID":"\([0-9a-f-]\{36\}\)".*/\1/'; }
ONE=$(node_id one)
grep -q "a host volume is not offered.*nowhere" "$WORK/one.log" || fail "nobody was told of the volume that is not there"
client_config two "$(free_port)" "$RPC" <<< "$RAW_EXEC"
"$DROVER" agent -config "$WORK/two.hcl" >> "$WORK/two.log" 2>&1 &
AGENTS+=("$!")
two_is_ready() { "$DROVER" operator api '/v1/nodes?filter=Name==two' | tr -d ' \n' | grep -q '"Status":"ready"'; }
eventually 30 "no second node" two_is_ready

# --- the page's job finds its volume, and cannot write there
expect 0 '"site": {' "$DROVER" operator api "/v1/node/$ONE"
example_of "$PAGE" > "$WORK/site.hcl"
expect 0 "" "$DROVER" job run -detach "$WORK/site.hcl"
eventually 20 "site is not placed" has_alloc site
SITE=$(alloc_of site)
eventually 30 "the volume is not there" prints "$SITE" "^welcome$"
eventually 10 "the volume can be written" prints "$SITE" "^it is read-only$"
[ ! -e "$WORK/site/new" ] || fail "the volume was written"
sed 's/"site" {/"nowhere" {/; s/source .*/source = "nowhere"/' "$WORK/site.hcl" > "$WORK/nowhere.hcl"
expect 0 "" "$DROVER" job run -detach "$WORK/nowhere.hcl"
misses() { "$DROVER" job status nowhere | grep -q "missing compatible host volumes"; }
eventually 10 "the missing volume is not named" misses
expect 0 "" "$DROVER" job stop -purge -detach nowhere
sed 's/"site" {/"bare" {/; s/driver .*/driver = "raw_exec"/' "$WORK/site.hcl" > "$WORK/bare.hcl"
expect 0 "" "$DROVER" job run -detach "$WORK/bare.hcl"
first_alloc() { ALLOC=$("$DROVER" job status "$1" | awk '/^Allocations/ { found = 1 } found && / (run|stop) / { print $1; exit }'); [ -n "$ALLOC" ]; }
eventually 10 "bare is not placed" first_alloc bare
eventually 10 "the driver took a mount" tells "$ALLOC" 'task driver "raw_exec" for "show" does not support host volumes'
expect 0 "" "$DROVER" job stop -detach bare

# --- secrets lie in memory: in sight of the task, over the agent's end, and no longer than the allocation
mounted() { grep -q "drover-secrets $WORK/one-data/alloc/$1" /proc/mounts; }
mounted "$SITE" || fail "the secrets of $SITE are not in memory"
expect 0 "tmpfs" "$DROVER" alloc exec "$SITE" /bin/sh -c 'grep " /secrets " /proc/mounts && echo token > /secrets/token'
kill -9 "$AGENT"
eventually 5 "the agent still runs" gone "$AGENT"
start one
runs_again() { "$DROVER" alloc status "$SITE" | grep -q 'is "running"'; }
eventually 30 "the task was not found again" runs_again
expect 0 "token" "$DROVER" alloc exec "$SITE" cat /secrets/token
expect 0 "" "$DROVER" job stop -detach site
not_mounted() { ! mounted "$1"; }
eventually 20 "the secrets outlive the allocation" not_mounted "$SITE"

# --- an ephemeral disk: kept on the node, and taken to another one
disk() { # NODE VERSION
  cat > "$WORK/disk.hcl" << JOB
job "disk" {
  constraint {
    attribute = "\${node.unique.name}"
    value     = "$1"
  }
  group "g" {
    ephemeral_disk {
      size    = 120
      migrate = true
    }
    update {
      min_healthy_time = "1ms"
    }
    task "t" {
      driver = "raw_exec"
      config {
        command = "/bin/sh"
        args    = ["-c", "echo $2 >> \$NOMAD_ALLOC_DIR/data/log; echo $2 >> local/log; ln -sf log local/link; cat \$NOMAD_ALLOC_DIR/data/log local/link | tr '\\\\n' ' '; echo; exec sleep 1000"]
      }
      resources {
        cpu    = 20
        memory = 16
      }
    }
  }
}
JOB
}
# The allocation that runs on the node, once its output is this.
shows() { ALLOC=$("$DROVER" job status disk | awk '/^Allocations/ { found = 1 } found && / run .* running / { print $1; exit }'); [ -n "$ALLOC" ] && prints "$ALLOC" "^$1 *\$"; }
disk one first
expect 0 "" "$DROVER" job run -detach "$WORK/disk.hcl"
eventually 20 "the first version does not run" shows "first first"
disk one second
expect 0 "" "$DROVER" job run -detach "$WORK/disk.hcl"
eventually 30 "the data was not kept on the node" shows "first second first second"
BEFORE=$ALLOC
if command -v curl > /dev/null; then
  curl -sS --max-time 20 -o "$WORK/snapshot.tar" "$NOMAD_ADDR/v1/client/allocation/$(basename "$WORK"/one-data/alloc/"$BEFORE"*)/snapshot" || fail "no snapshot"
  [ "$(tar -xOf "$WORK/snapshot.tar" alloc/data/log | tr '\n' ' ')" = "first second " ] || fail "the snapshot has other data"
else
  echo "the snapshot is not tried: curl is missing"
fi
disk two third
expect 0 "" "$DROVER" job run -detach "$WORK/disk.hcl"
eventually 40 "the data did not come from the other node" shows "first second third first second third"
tells "$ALLOC" "files came from allocation $BEFORE" || fail "no event says where the data came from"
[ -d "$WORK"/two-data/alloc/"$ALLOC"*/t ] || fail "it does not run on the second node"
[ -L "$WORK"/two-data/alloc/"$ALLOC"*/t/local/link ] || fail "the link is none any more"
expect 0 "" "$DROVER" job stop -detach disk

# --- what is over is forgotten by order
is_over() { "$DROVER" alloc status "$BEFORE" | grep -q complete; }
eventually 20 "the allocation did not end" is_over
forgotten() { "$DROVER" operator api "/v1/client/gc?node_id=$ONE" && ! ls -d "$WORK"/one-data/alloc/"$BEFORE"*; }
eventually 20 "the allocation was not forgotten" forgotten
passed
