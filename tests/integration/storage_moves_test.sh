#!/usr/bin/env bash
# Three servers and two nodes: a job with a volume of a single writer is moved again and again, by drains, by stops, while
# agents of nodes and leading servers are killed. Never do two write at once, nothing that was written is lost, and every
# move comes to its end. MOVES says how many (8); HOSTPATH is the storage plugin, which attaches.
JOIN="one two three"
. "$(dirname "$0")/servers.sh"
[ "$(id -u)" -eq 0 ] || { echo "skipped: mounting volumes takes root" >&2; exit 77; }
MOVES=${MOVES:-8}
cd "$WORK" || exit 1

SERVERS=(one two three)
take_serf "${SERVERS[@]}"
for server in "${SERVERS[@]}"; do server_config "$server" 3 < /dev/null; done
for server in "${SERVERS[@]}"; do run_server "$server"; done
is_led() { leads one; }
eventually 30 "no leader" is_led
ADDRESSES=
for server in "${SERVERS[@]}"; do ADDRESSES="$ADDRESSES\"127.0.0.1:${RPC[$server]}\", "; done
for node in left right; do
  HTTP[$node]=$(free_port)
  cat > "$WORK/$node.hcl" << CONFIG
name      = "$node"
data_dir  = "$WORK/$node-data"
bind_addr = "127.0.0.1"
ports {
  http = ${HTTP[$node]}
}
client {
  enabled           = true
  servers           = [$ADDRESSES]
  network_interface = "lo"
}
$RAW_EXEC
CONFIG
  run_server "$node"
done
# Whichever server answers.
any() {
  local server
  for server in "${SERVERS[@]}"; do on "$server" "$@" && return 0; done
  return 1
}
ready() { [ "$(any node status | grep -c ' ready$')" = 2 ]; }
eventually 40 "no two ready nodes" ready
node_id() { any node status -verbose | awk -v name="$1" '$3 == name { print $1 }'; }
LEFT=$(node_id left) RIGHT=$(node_id right)
[ ${#LEFT} = 36 ] && [ ${#RIGHT} = 36 ] || fail "the nodes are \"$LEFT\" and \"$RIGHT\": $(any node status -verbose)"

cat > plugin.hcl << JOB
job "storage" {
  type = "system"
  group "plugin" {
    task "plugin" {
      driver = "raw_exec"
      config {
        command = "$HOSTPATH"
        args    = ["--node-id", "\${node.unique.name}", "--data-dir", "$WORK/storage", "--attach"]
      }
      csi_plugin {
        id   = "shared"
        type = "monolith"
      }
    }
  }
}
JOB
cat > data.hcl << VOLUME
id        = "data"
type      = "csi"
plugin_id = "shared"
capability {
  access_mode     = "single-node-writer"
  attachment_mode = "file-system"
}
VOLUME
# The writer notices another one by a lock on the volume. Its lines are numbered.
cat > writer.hcl << 'JOB'
job "writer" {
  group "g" {
    restart {
      attempts = 0
      mode     = "fail"
    }
    reschedule {
      delay          = "5s"
      delay_function = "constant"
      unlimited      = true
    }
    migrate {
      min_healthy_time = "1s"
      healthy_deadline = "30s"
    }
    volume "data" {
      type            = "csi"
      source          = "data"
      access_mode     = "single-node-writer"
      attachment_mode = "file-system"
    }
    task "t" {
      driver       = "exec"
      kill_timeout = "1s"
      config {
        command = "/bin/sh"
        args = ["-c", <<-END
          exec 9> /data/lock
          flock -n 9 || { echo "two at once" >> /data/wrong; exit 1; }
          i=0
          while echo "$NOMAD_ALLOC_ID $i" >> /data/log || echo "refused" >> /data/wrong; do i=$((i + 1)); sleep 0.1; done
          END
        ]
      }
      volume_mount {
        volume      = "data"
        destination = "/data"
      }
      resources {
        cpu    = 50
        memory = 32
      }
    }
  }
}
JOB
retried() { any "$@"; }
eventually 30 "the plugin is not placed" retried job run -detach plugin.hcl
healthy() { any plugin status shared | grep -Eq '^Nodes Healthy *= *2$'; }
eventually 60 "the plugin is not healthy on both nodes" healthy
eventually 30 "no volume" retried volume create data.hcl
eventually 30 "the writer is not placed" retried job run -detach writer.hcl

LOG=
has_log() { LOG=$(find "$WORK/storage" -name log -type f 2> /dev/null | head -1); [ -n "$LOG" ]; }
eventually 60 "nobody writes: $(any volume claims explain data 2>&1)" has_log
DATA=${LOG%/log}
writer() { tail -n 1 "$LOG" | cut -d' ' -f1; }
# The last line is another allocation's, and one that is younger than this moment.
moved_from() { local now; now=$(writer); [ -n "$now" ] && [ "$now" != "$1" ]; }
writes() { local before; before=$(wc -l < "$LOG"); read -r -t 0.3 -u "$NEVER"; [ "$(wc -l < "$LOG")" -gt "$before" ]; }
node_of() { any alloc status -json "$1" | awk -F'"' '$2 == "NodeName" { print $4 }'; }
kill_leader() {
  eventually 40 "nobody leads" is_led_anywhere
  kill -9 "${PID[$LEADER]}"
  run_server "$LEADER"
}
is_led_anywhere() { local server; for server in "${SERVERS[@]}"; do leads "$server" && return 0; done; return 1; }
kill_node() { kill -9 "${PID[$1]}"; run_server "$1"; }

LONGEST=0
for ((move = 1; move <= MOVES; move++)); do
  eventually 60 "nobody writes before move $move" writes
  FORMER=$(writer)
  NODE=$(node_of "$FORMER")
  [ "$NODE" = left ] && ID=$LEFT OTHER=right || ID=$RIGHT OTHER=left
  BEGAN=$SECONDS
  case $((move % 4)) in
    0) kill_node "$NODE" ;;      # its agent comes back while the move goes on
    2) kill_node "$OTHER" ;;     # where the volume goes to
    3) kill_leader ;;
  esac
  if [ $((move % 2)) = 0 ]; then
    eventually 60 "the allocation is not stopped in move $move" retried alloc stop -detach "$FORMER"
  else
    eventually 60 "no drain in move $move" retried node drain -enable -detach -yes "$ID"
  fi
  eventually 150 "move $move came to no end: $(any volume claims explain data 2>&1; any job status writer 2>&1)" moved_from "$FORMER"
  TOOK=$((SECONDS - BEGAN))
  [ $TOOK -le $LONGEST ] || LONGEST=$TOOK
  [ $((move % 2)) = 0 ] || eventually 60 "the node is not opened again" retried node drain -disable -yes "$ID"
  [ ! -s "$DATA/wrong" ] || fail "in move $move: $(cat "$DATA/wrong")"
  CHECKS=$((CHECKS + 1))
done
echo "$MOVES moves, the longest took $LONGEST s; $(wc -l < "$LOG") lines"

# Each allocation's lines are there, from the first to the last, in order and whole.
awk '{ if ($2 != next_of[$1] + 0) { print "line " NR ": " $0 ", expected " next_of[$1] + 0; exit 1 } next_of[$1] = $2 + 1 }' "$LOG" || fail "what was written is damaged"

# Nothing is left when the job has gone.
eventually 40 "the job is not stopped" retried job stop -detach writer
unclaimed() { any volume status -json data | grep -q '"Claims": null'; }
eventually 90 "a claim is left: $(any volume claims explain data 2>&1)" unclaimed
no_mounts() { ! grep "$WORK" /proc/self/mountinfo | grep -E '/staging/|/per-alloc/'; }
eventually 30 "mounts are left" no_mounts
detached() { ! any operator api "/v1/volumes/external?plugin_id=shared" | grep -A3 PublishedExternalNodeIDs | grep -E '"(left|right)"'; }
eventually 10 "the storage has an attachment left" detached
passed
