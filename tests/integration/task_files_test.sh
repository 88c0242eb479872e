#!/usr/bin/env bash
# Files and logs of allocations as operators see them: the example of docs/operator/files.md, over the command line and
# over HTTP, and what must never be seen.
. "$(dirname "$0")/lib.sh"
PAGE=$(dirname "$0")/../../docs/operator/files.md

config one <<< "$RAW_EXEC"
start one
cd "$WORK" || exit 1
# get STATUS TEXT PATH: the answer's status, and a text in what it says. BODY is the answer.
get() {
  CHECKS=$((CHECKS + 1))
  local code
  code=$(curl -sS -m 30 -o "$WORK/body" -w '%{http_code}' "$NOMAD_ADDR/v1/client/fs/$3") || fail "no answer: $3"
  BODY=$(tr -d '\0' < "$WORK/body")
  [ "$code" = "$1" ] || fail "status $code, not $1, of $3: $BODY"
  case $BODY in *"$2"*) ;; *) fail "it does not say \"$2\": $3: $BODY" ;; esac
}
fs() { "$DROVER" alloc fs "$@"; }
has() { grep -q -- "$2" "$1"; }
follows() { # FILE COMMAND…: in the background, into FILE; FOLLOWER is its process
  local into=$1
  shift
  "$@" > "$into" 2> "$into.err" &
  FOLLOWER=$!
  AGENTS+=("$FOLLOWER")
}

# --- the page's job
example_of "$PAGE" > notes.hcl
expect 0 "Job registration successful" "$DROVER" job run -detach notes.hcl
eventually 20 "notes is not placed" has_alloc notes
ALLOC=$(alloc_of notes)
eventually 20 "the task does not write" prints "$ALLOC" "wrote note 2"
ID=$("$DROVER" alloc status -json "$ALLOC" | sed -n 's/^ *"ID": "\([0-9a-f-]\{36\}\)".*/\1/p' | head -n 1)
[ -n "$ID" ] || fail "the allocation has no identifier"
FOLDER=$WORK/one-data/alloc/$ID

# --- lists and descriptions
[ "$(fs "$ALLOC" | awk '{ print $1, $NF }')" = "$(printf 'Mode Name\ndtrwxrwxrwx alloc/\ndrwxrwxrwx writer/')" ] || fail "it lists: $(fs "$ALLOC")"
expect 0 "Mode        Size" fs "$ALLOC" writer/local
fs "$ALLOC" writer/local | grep -Eq '^-rw-r--r--  17 B +[0-9T:-]+Z  app.json$' || fail "it lists: $(fs "$ALLOC" writer/local)"
expect 0 "Content Type" fs -verbose "$ALLOC" writer/local
expect 0 "application/json" fs -verbose -job notes /writer/local
fs -H "$ALLOC" writer/local | grep -Eq '^-rw-r--r--  17 +[0-9T:-]+Z  app.json$' || fail "it lists: $(fs -H "$ALLOC" writer/local)"
[ "$(fs -stat "$ALLOC" writer | awk 'NR == 1 { print $1, $2, $3, $4, $5, $6, $7 } NR == 2 { print $1, $NF }')" = \
  "$(printf 'Mode Size Modified Time Content Type Name\ndrwxrwxrwx writer/')" ] || fail "$(fs -stat "$ALLOC" writer)"
[ "$(fs "$ALLOC" writer/local/app.json)" = '{"level": "info"}' ] || fail "it shows: $(fs "$ALLOC" writer/local/app.json)"
get 200 '"Name":"app.json"' "ls/$ID?path=writer/local"
get 200 '"IsDir":true' "ls/$ID"
get 200 '{"Name":"app.json","IsDir":false,"Size":17,"FileMode":"-rw-r--r--","ModTime":"2' "stat/$ID?path=writer/local/app.json"
get 200 '{"level": "info"}' "cat/$ID?path=writer/local/app.json"
get 200 'level' "readat/$ID?path=writer/local/app.json&offset=2&limit=5"
[ "$BODY" = level ] || fail "it is more: $BODY"
get 200 '"Data":"ImluZm8ifQ==","File":"writer/local/app.json"' "stream/$ID?path=writer/local/app.json&follow=false&origin=end&offset=7"
[ "$BODY" = '{"Offset":17,"Data":"ImluZm8ifQ==","File":"writer/local/app.json"}' ] || fail "the frame: $BODY"
get 200 'info' "stream/$ID?path=writer/local/app.json&follow=false&plain=true"
curl -sS -D "$WORK/head" -o /dev/null "$NOMAD_ADDR/v1/client/fs/cat/$ID?path=writer/local/app.json"
has "$WORK/head" '^Content-Type: application/json' || fail "the type: $(cat "$WORK/head")"
has "$WORK/head" '^X-Content-Type-Options: nosniff' || fail "the header: $(cat "$WORK/head")"
echo '<script>alert(1)</script>' > "$FOLDER/writer/local/page.html"
curl -sS -D "$WORK/head" -o /dev/null "$NOMAD_ADDR/v1/client/fs/cat/$ID?path=writer/local/page.html"
has "$WORK/head" '^Content-Type: text/plain' || fail "the type: $(cat "$WORK/head")"

# --- followed while the task writes
[ "$(fs -tail -n 2 "$ALLOC" writer/local/notes.txt | wc -l)" = 2 ] || fail "two lines are $(fs -tail -n 2 "$ALLOC" writer/local/notes.txt)"
[ "$(fs -c 3 "$ALLOC" writer/local/app.json)" = 'o"}' ] || fail "three bytes are $(fs -c 3 "$ALLOC" writer/local/app.json)"
follows followed fs -f -tail -n 2 "$ALLOC" writer/local/notes.txt
eventually 20 "nothing comes" has followed note
first=$(head -n 1 followed | sed 's/note //')
eventually 20 "what is appended does not come" has followed "^note $((first + 5))$"
[ "$(head -n 4 followed)" = "$(seq "$first" $((first + 3)) | sed 's/^/note /')" ] || fail "lines are lost: $(head followed)"
: > "$FOLDER/writer/local/notes.txt"
eventually 20 "it does not see that the file is shorter" has followed.err 'writer/local/notes.txt: file truncated'
rm "$FOLDER/writer/local/notes.txt"
eventually 20 "it does not see that the file is gone" has followed.err 'writer/local/notes.txt: file deleted'
wait "$FOLLOWER" || fail "it ends with an error: $(cat followed.err)"

# --- logs: which, where from, both, and signs of life
expect 0 "begun" "$DROVER" alloc logs "$ALLOC"
expect 0 "careful" "$DROVER" logs -stderr "$ALLOC" writer
[ "$("$DROVER" alloc logs -stderr -c 4 -job notes)" = ful ] || fail "the end of the errors: $("$DROVER" alloc logs -stderr -c 4 -job notes)"
[ "$("$DROVER" alloc logs -tail -n 3 "$ALLOC" | wc -l)" = 3 ] || fail "three lines: $("$DROVER" alloc logs -tail -n 3 "$ALLOC")"
follows both "$DROVER" alloc logs -f -task writer "$ALLOC"
eventually 20 "standard output does not come" has both "wrote note"
eventually 20 "standard error does not come" has both.err careful
count=$(wc -l < both)
more() { [ "$(wc -l < both)" -gt $((count + 3)) ]; }
eventually 20 "nothing more comes" more
kill -INT "$FOLLOWER"
wait "$FOLLOWER" || fail "an interrupt is an error"
follows one-log "$DROVER" alloc logs -f -stderr "$ALLOC"
eventually 20 "standard error does not come" has one-log careful
has one-log wrote && fail "it is the other log: $(cat one-log)"
kill -INT "$FOLLOWER"
expect 1 "Unable to support both" "$DROVER" alloc logs -stdout -stderr "$ALLOC"
expect 1 "Both -n and -c are not allowed" "$DROVER" alloc logs -n 1 -c 1 "$ALLOC"
expect 1 "Invalid size is specified" fs -n x "$ALLOC" writer/local/app.json
expect 1 "Could not find task named: reader" "$DROVER" alloc logs "$ALLOC" reader
expect 1 "are for files" fs -f "$ALLOC" writer
expect 1 "leave out -f" fs -stat -f "$ALLOC" writer
get 200 '"File":"alloc/logs/writer.stderr.0"' "logs/$ID?task=writer&type=stderr"
get 200 'careful' "logs/$ID?task=writer&type=stderr&plain=true&origin=start"
[ "$BODY" = careful ] || fail "plain is not plain: $BODY"
get 200 'ful' "logs/$ID?task=writer&type=stderr&plain=true&origin=end&offset=4"
[ "$BODY" = ful ] || fail "the end is not the end: $BODY"
get 400 'must provide task name' "logs/$ID?type=stdout"
get 400 'must provide log type (stdout/stderr)' "logs/$ID?task=writer"
get 400 'origin must be start or end' "logs/$ID?task=writer&type=stdout&origin=middle"
get 404 'unknown task name "reader"' "logs/$ID?task=reader&type=stdout"
follows signs curl -sSN "$NOMAD_ADDR/v1/client/fs/logs/$ID?task=writer&type=stderr&follow=true"
eventually 20 "there are no signs of life" has signs '{}{}{}'
has signs '^{"Offset":8,"Data":"Y2FyZWZ1bAo=","File":"alloc/logs/writer.stderr.0"}{}' || fail "the frames: $(cat signs)"
kill "$FOLLOWER"

# --- ways out, none of which leads anywhere
local_folder=$FOLDER/writer/local
echo "not yours" > "$WORK/outside"
ln -s /etc "$local_folder/etc"
ln -s ../../../../../outside "$local_folder/up"
ln -s "$WORK/outside" "$local_folder/absolute"
ln -s /proc/self/root "$local_folder/magic"
ln -s ../secrets "$local_folder/open"
ln -s "$FOLDER/writer/secrets/token" "$local_folder/token"
ln -s loop "$local_folder/loop"
ln -s ../../alloc/logs "$local_folder/logs"
mkfifo "$local_folder/pipe"
truncate -s 1T "$local_folder/huge"
out='Path escapes the alloc directory'
for path in ../../../outside /../../outside writer/../../x writer/local/etc/passwd writer/local/up writer/local/absolute \
  writer/local/magic/etc/passwd; do
  get 500 "$out" "cat/$ID?path=$path"
  get 500 "$out" "ls/$ID?path=$path"
  get 500 "$out" "stat/$ID?path=$path"
  get 500 "$out" "stream/$ID?path=$path"
done
for path in writer/secrets writer/secrets/token writer/local/../secrets/token writer/local/open writer/local/open/token \
  writer/local/token writer/secrets/none; do
  get 500 'Reading secret file prohibited: ' "readat/$ID?path=$path&offset=0&limit=9"
  get 500 'Reading secret file prohibited: ' "ls/$ID?path=$path"
  get 500 'Reading secret file prohibited: ' "stat/$ID?path=$path"
done
expect 1 "$out" fs "$ALLOC" writer/local/etc
expect 1 "Reading secret file prohibited" fs "$ALLOC" writer/secrets
get 400 'too many levels of symbolic links' "cat/$ID?path=writer/local/loop"
get 400 'is a named pipe, which is not read' "cat/$ID?path=writer/local/pipe"
get 400 'is a named pipe, which is not read' "stream/$ID?path=alloc/logs/.writer.stdout.fifo"
get 200 'writer.stdout.0' "ls/$ID?path=writer/local/logs"
get 200 '"Size":1099511627776' "stat/$ID?path=writer/local/huge"
get 200 '' "readat/$ID?path=writer/local/huge&offset=1099511627770&limit=100"
[ "$(stat -c %s "$WORK/body")" = 6 ] || fail "the end of the huge file: $(stat -c %s "$WORK/body") bytes"
get 400 'zero byte' "cat/$ID?path=writer/local/app.json%00.txt"
get 400 'longer than 4096 bytes' "cat/$ID?path=$(printf '%010000d' 0)"
get 400 'longer than 255 bytes' "cat/$ID?path=$(printf '%0300d' 0)"
get 400 'must provide a file name' "cat/$ID"
get 400 'is a directory' "cat/$ID?path=writer"
get 400 'is not a directory' "ls/$ID?path=writer/local/app.json"
get 400 'error parsing offset' "readat/$ID?path=writer/local/app.json"
get 404 'no such file or directory' "cat/$ID?path=writer/none"
get 404 'no such file or directory' "stat/$ID?path=writer/none"
get 404 '' "cat/00000000-0000-0000-0000-000000000000?path=x"
expect 1 "no such file or directory" fs "$ALLOC" writer/none

# --- logs that rotate under a follower, of a task that prints more than its files hold
once_job rotating 'exec 3>&1; i=0; while [ $i -lt 60000 ]; do i=$((i+1)); echo line-with-some-words-to-fill-it-$i; done; exec sleep 1000' 'logs {
        max_files = 2
        max_file_size = 1
      }'
has_rotated() { "$DROVER" alloc fs "$ALLOC" alloc/logs | grep -q 't\.stdout\.[1-9]'; }
follows rotated "$DROVER" alloc logs -f -stdout "$ALLOC"
eventually 60 "the follower does not see the last line" has rotated '^line-with-some-words-to-fill-it-60000$'
eventually 20 "the log has not rotated" has_rotated
[ "$(sed 's/.*-//' rotated | sort -n | uniq | wc -l)" = "$(wc -l < rotated)" ] || fail "lines came twice"
kill -INT "$FOLLOWER"
"$DROVER" alloc logs "$ALLOC" | tail -n 1 | grep -q -- '-60000$' || fail "the last line is not the last"

# --- and after the allocation's end
expect 0 "" "$DROVER" job stop -purge -detach notes
ended() { "$DROVER" alloc status "$ID" | grep -q '^Client Status *= complete'; }
eventually 30 "notes does not end" ended
get 200 '{"level": "info"}' "cat/$ID?path=writer/local/app.json"
passed
