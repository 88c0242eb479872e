#!/usr/bin/env bash
# Templates of tasks on a real agent: the example of docs/operator/templates.md, and what goes wrong.
. "$(dirname "$0")/lib.sh"
PAGE=$(realpath "$(dirname "$0")/../../docs/operator/templates.md")

config one <<< "$RAW_EXEC"
start one
cd "$WORK" || exit 1

# --- the page's job waits for a file, and says so
example_of "$PAGE" > web.hcl
expect 0 "Job registration successful" "$DROVER" job run -detach web.hcl
eventually 20 "web is not placed" has_alloc web
alloc=$(alloc_of web)
eventually 20 "the task does not say for what it waits" tells "$alloc" "Missing: file(.*/alloc/limits.json)"

# --- it starts when the file comes, and is signalled when it changes
folder=$(echo "$WORK"/one-data/alloc/"$alloc"*)
limit() {
  echo "{\"requests\": \"$1\"}" > "$folder/alloc/limits.json.new"
  mv "$folder/alloc/limits.json.new" "$folder/alloc/limits.json"
}
limit 50
eventually 20 "the file was not written" prints "$alloc" "limit  100;"
eventually 20 "the variable is not there" prints "$alloc" "level=info"
expect 0 "node   ONE;" "$DROVER" alloc logs "$alloc"
prints "$alloc" 'listen 127.0.0.1:[23][0-9]*;' || fail "the port is not there"
limit 60
eventually 20 "the task was not signalled" prints "$alloc" "limit  120;"
eventually 20 "there is no event" tells "$alloc" "Signaling"
[ "$(stat -c %a "$folder/server/local/app.conf")" = 644 ] || fail "the file has another mode"

# --- an agent that was killed finds what changed meanwhile
kill -9 "$AGENT"
eventually 10 "the agent lives" gone "$AGENT"
limit 70
start one
eventually 30 "the change was not seen" prints "$alloc" "limit  140;"
expect 0 "" "$DROVER" job stop -purge -detach web

# --- one that is restarted, with a source and delimiters of its own
show='cat local/out; exec sleep 1000'
once_job again "$show" 'template {
        destination = "local/out"
        left_delimiter = "[["
        right_delimiter = "]]"
        data = "n=[[ file \"local/n\" ]]\n"
        splay = "0s"
        wait {
          min = "0s"
        }
      }'
folder=$(echo "$WORK"/one-data/alloc/"$ALLOC"*)
folder_is_there() { [ -d "$folder/t/local" ]; }
eventually 20 "the task has no folder" folder_is_there
echo 1 > "$folder/t/local/n"
eventually 20 "the task does not run" prints "$ALLOC" "n=1"
echo 22 > "$folder/t/local/n"
eventually 20 "the task was not restarted" prints "$ALLOC" "n=22"
expect 0 "Template with change_mode restart re-rendered" "$DROVER" alloc status "$ALLOC"
expect 0 "" "$DROVER" job stop -purge -detach again

# --- what goes wrong says where
once_job wrong "$show" 'template {
        destination = "local/out"
        data = "a\n{{ divide 0 1 }}"
      }'
eventually 20 "the error is not shown" tells "$ALLOC" "template: (dynamic): template 2:4: divide: integer divide by zero"
once_job outside "$show" 'template {
        destination = "local/out"
        data = "{{ file \"/etc/hostname\" }}"
      }'
eventually 20 "the file was read" tells "$ALLOC" "'/etc/hostname' is outside of sandbox"
expect 1 "the path leaves the task's folder" "$DROVER" job validate <(sed 's#local/out"#../../out"#' wrong.hcl)
for name in wrong outside; do expect 0 "" "$DROVER" job stop -purge -detach "$name"; done
passed
