#!/usr/bin/env bash
# The state is saved, looked into, restored where it came from, in a new server, and in a cluster of three.
. "$(dirname "$0")/lib.sh"

job() { # NAME COMMAND
  cat > "$WORK/$1.nomad" << JOB
job "$1" {
  type = "batch"
  group "g" {
    task "t" {
      driver = "raw_exec"
      config {
        command = "$2"
      }
    }
  }
}
JOB
}
for name in kept changed later; do job "$name" /bin/true; done
index_of() { curl_head "$1" | sed -n 's/^x-nomad-index: //pI' | tr -d '\r'; }
# The answer's header, through bash's own connection: no other program is needed.
curl_head() {
  exec 3<> "/dev/tcp/127.0.0.1/$HTTP"
  printf 'GET %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n' "$1" >&3
  sed '/^\r$/q' <&3
  exec 3>&-
}
# A request whose body is the file; the status and the text of the answer.
put_file() { # FILE
  exec 3<> "/dev/tcp/127.0.0.1/$HTTP"
  printf 'PUT /v1/operator/snapshot HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: %s\r\n\r\n' "$(stat -c %s "$1")" >&3
  cat "$1" >&3
  cat <&3
  exec 3>&-
}
snapshot() { "$DROVER" operator snapshot "$@"; }
rows_of() { snapshot state "$1" | sed -n "/^    \"$2\": \[/,/^    \]/p"; } # FILE TABLE
done_with() { "$DROVER" job status "$1" | grep -q ' complete '; }
names_are() { names; [ "$(names)" = "$1" ]; }
names() { "$DROVER" job status | awk 'NR > 1 { print $1 }' | sort | tr '\n' ' '; }

# --- a server and its node -------------------------------------------------------------------------------------------
config one <<< 'plugin "raw_exec" {
  config {
    enabled = true
  }
}'
ONE=$HTTP
start one
for name in kept changed; do
  expect 0 "finished" "$DROVER" job run "$WORK/$name.nomad"
  eventually 10 "$name does not end" done_with "$name"
done

cd "$WORK" || exit 1
expect 0 "State file written to " snapshot save
DEFAULT=$(echo "$WORK"/nomad-state-*.snap)
[ -f "$DEFAULT" ] || fail "no file of the default name"
[ "$(stat -c %a "$DEFAULT")" = 600 ] || fail "others may read the saved state"
expect 0 "State file written to $WORK/a.snap" snapshot save "$WORK/a.snap"
expect 0 "State file written to" snapshot save -stale "$WORK/stale.snap"
[ -z "$(ls "$WORK" | grep part)" ] || fail "a part is left beside the file"
expect 1 "No such file or directory" snapshot save "$WORK/nowhere/a.snap"

# --- what was saved --------------------------------------------------------------------------------------------------
for key in ID Size Index Term Version; do expect 0 "$key " snapshot inspect "$WORK/a.snap"; done
expect 0 '"Name": "jobs"' snapshot inspect -json "$WORK/a.snap"
expect 0 '"ID":"kept"' snapshot state "$WORK/a.snap"
expect 0 "state.bin" tar -tzf "$WORK/a.snap"
tar -xzf "$WORK/a.snap" -C "$WORK" && (cd "$WORK" && sha256sum -c --quiet SHA256SUMS) || fail "the sums are not those of sha256sum"
HEAD=$(curl_head /v1/operator/snapshot)
case $HEAD in *"Digest: sha-256="*"="*) ;; *) fail "no header Digest: $HEAD" ;; esac

# --- what is damaged, cut off or foreign changes nothing ---------------------------------------------------------------
head -c 400 "$WORK/a.snap" > "$WORK/cut.snap"
cp "$WORK/a.snap" "$WORK/long.snap" && echo x >> "$WORK/long.snap"
cp "$WORK/a.snap" "$WORK/bad.snap" && printf '\x55' | dd of="$WORK/bad.snap" bs=1 seek=300 conv=notrunc status=none
echo hello > "$WORK/foreign.snap"
tar -czf "$WORK/tar.snap" -C "$WORK" kept.nomad
: > "$WORK/empty.snap"
BEFORE=$(names)
for file in cut long bad foreign tar empty; do
  expect 1 "snapshot archive: " snapshot inspect "$WORK/$file.snap"
  expect 1 "snapshot archive: " snapshot restore "$WORK/$file.snap"
  ANSWER=$(put_file "$WORK/$file.snap")
  case $ANSWER in "HTTP/1.1 400 "*) ;; *) fail "$file.snap: $ANSWER" ;; esac
done
[ "$(names)" = "$BEFORE" ] || fail "a refused file changed the state"
expect 0 "State file written" snapshot save "$WORK/still.snap"
[ "$(rows_of "$WORK/still.snap" jobs)" = "$(rows_of "$WORK/a.snap" jobs)" ] || fail "not the same rows"

# --- back where it came from -------------------------------------------------------------------------------------------
expect 0 "finished" "$DROVER" job run "$WORK/later.nomad"
eventually 10 "later does not end" done_with later
expect 0 "" "$DROVER" job stop -purge changed
eventually 10 "changed is still there" names_are "kept later "
SEEN=$(index_of /v1/jobs)
"$DROVER" operator api "/v1/jobs?index=$SEEN&wait=60s" > "$WORK/blocked" 2>&1 &
BLOCKED=$!
"$DROVER" operator api "/v1/job/kept?index=$(index_of /v1/job/kept)&wait=60s" > "$WORK/blocked_one" 2>&1 &
BLOCKED_ONE=$!
expect 0 "Snapshot Restored" snapshot restore "$WORK/a.snap"
[ "$(names)" = "changed kept " ] || fail "after the restore there are: $(names)"
eventually 10 "a blocking query does not see the restore" gone "$BLOCKED"
eventually 10 "a blocking query of one job does not see the restore" gone "$BLOCKED_ONE"
grep -q '"changed"' "$WORK/blocked" || fail "the blocking query saw $(cat "$WORK/blocked")"
grep -q '"kept"' "$WORK/blocked_one" || fail "the blocking query of one job saw $(cat "$WORK/blocked_one")"
AFTER=$(index_of /v1/jobs)
[ "$AFTER" -gt "$SEEN" ] || fail "the index went from $SEEN to $AFTER"
[ "$(index_of /v1/job/kept)" -gt "$SEEN" ] || fail "one job's index went back behind $SEEN"
expect 0 "State file written" snapshot save "$WORK/b.snap"
same_rows() { # FILE FILE TABLE…
  local one=$1 other=$2 table
  shift 2
  for table in "$@"; do
    rows_of "$one" "$table" | grep -q '{' || fail "no rows of $table were saved"
    [ "$(rows_of "$one" "$table")" = "$(rows_of "$other" "$table")" ] || fail "the rows of $table are not those that were saved"
  done
}
same_rows "$WORK/a.snap" "$WORK/b.snap" jobs job_versions  # the node tells anew how its allocations are
rows_of "$WORK/b.snap" restore_chunks | grep -q '{' && fail "chunks are left"
# The scheduler goes by what is there now, the node is known, and work goes on.
expect 0 "finished" "$DROVER" job run "$WORK/later.nomad"
eventually 20 "no work after the restore" done_with later

# --- it stays, and a stopped server can be looked into ------------------------------------------------------------------
expect 1 "an agent is using these files" "$DROVER" operator raft info "$WORK/one-data"
expect 1 "an agent is using these files" "$DROVER" operator raft state "$WORK/one-data"
kill -9 "$AGENT"
eventually 5 "the agent still runs" gone "$AGENT"
expect 0 "Last index" "$DROVER" operator raft info "$WORK/one-data"
expect 0 '"Command":"drover.v1.StateRestored"' "$DROVER" operator raft logs "$WORK/one-data"
expect 0 '"Type": "membership"' "$DROVER" operator raft logs -pretty "$WORK/one-data"
expect 0 '"ID":"kept"' "$DROVER" operator raft state "$WORK/one-data"
expect 1 "no server's log is below it" "$DROVER" operator raft info "$WORK"
start one
[ "$(names)" = "changed kept later " ] || fail "after a restart there are: $(names)"
kill -9 "$AGENT"

# --- in a new server, whose log is far behind ------------------------------------------------------------------------------
config two <<< ''
start two
expect 0 "Snapshot Restored" snapshot restore "$WORK/b.snap"
[ "$(names)" = "changed kept " ] || fail "in a new server there are: $(names)"
[ "$(index_of /v1/jobs)" -gt "$(snapshot inspect "$WORK/b.snap" | awk '$1 == "Index" { print $3 }')" ] ||
  fail "the new server's index is below that of the rows"
expect 0 "State file written" snapshot save "$WORK/c.snap"
same_rows "$WORK/b.snap" "$WORK/c.snap" jobs job_versions allocs
kill -9 "$AGENT"

# --- in a cluster of three --------------------------------------------------------------------------------------------------
declare -A PORT SERF
for server in x y z; do SERF[$server]=$(free_port); done
for server in x y z; do
  PORT[$server]=$(free_port)
  cat > "$WORK/$server.hcl" << CONFIG
name      = "$server"
data_dir  = "$WORK/$server-data"
bind_addr = "127.0.0.1"
ports {
  http = ${PORT[$server]}
  rpc  = $(free_port)
  serf = ${SERF[$server]}
}
server {
  enabled          = true
  bootstrap_expect = 3
  server_join {
    retry_join     = ["127.0.0.1:${SERF[x]}", "127.0.0.1:${SERF[y]}"]
    retry_interval = "300ms"
  }
}
CONFIG
  "$DROVER" agent -config "$WORK/$server.hcl" >> "$WORK/$server.log" 2>&1 &
  AGENTS+=("$!")
  disown "$!"
done
on() { local server=$1; shift; NOMAD_ADDR=http://127.0.0.1:${PORT[$server]} "$DROVER" "$@"; }
leads() { on "$1" server members | awk '$5 == "true"' | grep -q .; }
for server in x y z; do eventually 30 "$server knows no leader" leads "$server"; done
expect 0 "Snapshot Restored" on x operator snapshot restore "$WORK/b.snap"
has_restored() { on "$1" operator api '/v1/jobs?stale' | grep -q '"changed"'; }
for server in x y z; do eventually 10 "$server has not the restored state" has_restored "$server"; done
same_state() { # each by itself, as it knows it
  local server
  for server in x y z; do
    rm -f "$WORK/$server.snap"
    on "$server" operator snapshot save -stale "$WORK/$server.snap" || return 1
    mkdir -p "$WORK/$server-state" && tar -xzf "$WORK/$server.snap" -C "$WORK/$server-state" || return 1
  done
  cmp "$WORK/x-state/state.bin" "$WORK/y-state/state.bin" && cmp "$WORK/x-state/state.bin" "$WORK/z-state/state.bin"
}
eventually 20 "the three servers have not the same state" same_state
expect 0 '"ID":"kept"' snapshot state "$WORK/y.snap"
passed
