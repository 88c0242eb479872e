#!/usr/bin/env bash
# A storage plugin that the agent itself runs, by the configuration in docs/operator/storage.md: a job writes to its volume
# while the plugin and then the agent is killed, the agent is stopped and started, and the job is moved; at the end nothing
# is left. HOSTPATH is the plugin.
. "$(dirname "$0")/lib.sh"
PAGE=$(realpath "$(dirname "$0")/../../docs/operator/storage.md")
[ "$(id -u)" -eq 0 ] || { echo "skipped: mounting volumes takes root" >&2; exit 77; }

block() { indented_example 'plugin "hostpath"' "$PAGE" | sed "s,/usr/lib/drover/csi/drover-csi-hostpath,$HOSTPATH,; s,/var/lib/drover-hostpath,$WORK/hostpath,"; }
cd "$WORK" || exit 1
drover() { "$DROVER" "$@"; }

# --- what is wrong in the configuration is said with its place, before the agent starts
config agent < <(block)
expect 0 "Configuration is valid!" drover plugin validate-config -config agent.hcl
config wrong < <(block | sed 's/command/comand/')
expect 1 'unknown option "comand" in block "config"; did you mean "command"?' drover plugin validate-config -config wrong.hcl
config wrong < <(block | sed 's/"monolith"/"monolit"/')
expect 1 'must be one of "node", "controller", "monolith", not "monolit"' drover plugin validate-config -config wrong.hcl
config wrong < <(block | sed 's,"/.*drover-csi-hostpath","drover-csi-hostpath",')
expect 1 'plugin "hostpath": command "drover-csi-hostpath" is no absolute path' drover agent -config wrong.hcl
server_config server "$(free_port)" "$(free_port)" < <(block)
expect 0 'plugin "hostpath" is not run: an agent runs plugins of the kind csi with client { enabled = true }' \
  drover plugin validate-config -config server.hcl

# --- the plugin runs without a job, and is known as others are
config agent < <(block | sed 's/type *= "monolith"/&\n    env {\n      API_KEY = "hush-4711"\n    }/')
start agent
is_healthy() { drover plugin status hostpath | grep -Eq '^Nodes Healthy *= *1$'; }
eventually 40 "the plugin is not healthy: $(drover plugin status hostpath 2>&1)" is_healthy
for line in 'Controllers Healthy  = 1' 'Controllers Expected = 1' 'Nodes Expected       = 1' 'Provider'; do
  expect 0 "$line" drover plugin status hostpath
done
expect 0 "No allocations placed" drover plugin status hostpath
expect 0 '"env": "<redacted>"' drover operator api /v1/agent/self
for folder in programs/hostpath output; do
  [ "$(stat -c %a "agent-data/client/csi/$folder")" = 700 ] || fail "others may look into $folder"
done

# --- a volume, and a job that writes to it
indented_example 'id        = "data"' "$PAGE" > data.hcl
indented_example 'job "writer"' "$PAGE" > writer.hcl
expect 0 "Created external volume" drover volume create data.hcl
expect 0 "Job registration successful" drover job run -detach writer.hcl
eventually 20 "writer is not placed" has_alloc writer
WRITER=$(alloc_of writer)
eventually 40 "nothing is written: $(drover alloc status "$WRITER" 2>&1)" prints "$WRITER" written

# --- the plugin is killed: the next one goes on with its mounts
pid_of_plugin() {
  local dir
  for dir in /proc/[0-9]*; do
    if [ "$(readlink "$dir/exe" 2> /dev/null)" = "$HOSTPATH" ] && tr '\0' ' ' < "$dir/cmdline" 2> /dev/null | grep -q "$WORK"; then echo "${dir#/proc/}"; fi
  done
}
no_plugin() { [ -z "$(pid_of_plugin)" ]; }
one_plugin() { [ "$(pid_of_plugin | wc -l)" = 1 ]; }
HOSTPATH=$(realpath "$HOSTPATH")
eventually 5 "there is not one plugin: $(pid_of_plugin)" one_plugin
FIRST=$(pid_of_plugin)
tr '\0' '\n' < "/proc/$FIRST/environ" | grep -q '^NOMAD_\|^HOME=' && fail "the plugin has the agent's environment"
kill -9 "$FIRST"
another_plugin() { one_plugin && [ "$(pid_of_plugin)" != "$FIRST" ]; }
eventually 20 "the plugin is not started again" another_plugin
logged agent 'ended by itself.*signal 9' || fail "the log does not say how the plugin ended"
eventually 40 "the plugin is not healthy again" is_healthy

# --- an operator restarts it: health goes down and up, and the mounts stay
SECOND=$(pid_of_plugin)
expect 0 'Plugin "hostpath" runs again, as process' drover plugin restart hostpath
one_plugin || fail "there is not one plugin: $(pid_of_plugin)"
[ "$(pid_of_plugin)" != "$SECOND" ] || fail "the plugin was not restarted"
eventually 20 "the plugin is not healthy again" is_healthy
tells "$WRITER" running || fail "the task is not running any more"
expect 0 'State       = running' drover plugin status -type node hostpath
expect 0 'Restarts    = 2' drover plugin status hostpath
expect 0 'hostpath  hostpath.csi.drover' drover plugin status -type node
expect 1 'put the new version in place of' drover plugin upgrade hostpath
expect 1 'this node has no plugin "tape"' drover plugin restart tape

# --- the agent is killed, and the next one is stopped in good order: the plugin goes on, for its volume is in use
SECOND=$(pid_of_plugin)
same_plugin() { [ "$(pid_of_plugin)" = "$SECOND" ]; }
kill -9 "$AGENT"
eventually 10 "the agent still runs" gone "$AGENT"
same_plugin || fail "the plugin went with the agent"
start agent
eventually 40 "the plugin did not come back" is_healthy
same_plugin || fail "the plugin was started again: $SECOND, $(pid_of_plugin)"
kill -TERM "$AGENT"
eventually 20 "the agent does not stop" gone "$AGENT"
same_plugin || fail "the plugin ended under a volume in use"
start agent
eventually 40 "the plugin did not come back" is_healthy
same_plugin || fail "the plugin was started again: $SECOND, $(pid_of_plugin)"
tells "$WRITER" running || fail "the task is not running any more"
lines_of() { [ "$(drover alloc logs "$1" | grep -c written)" = "$2" ]; }
lines_of "$WRITER" 1 || fail "the task was started again: $(drover alloc logs "$WRITER")"

# --- the job is moved: the next allocation finds what the first wrote
expect 0 "" drover alloc stop -detach "$WRITER"
moved() { has_alloc writer && [ "$(alloc_of writer)" != "$WRITER" ]; }
eventually 40 "the job is not moved" moved
NEXT=$(alloc_of writer)
eventually 60 "the next one does not see what was written: $(drover alloc status "$NEXT" 2>&1)" lines_of "$NEXT" 2

# --- all is undone, and the plugin goes with the agent, since nobody needs it
expect 0 "" drover job stop -detach writer
unclaimed() { drover volume status -json data | grep -q '"Claims": null'; }
eventually 60 "a claim is left: $(drover volume claims explain data 2>&1)" unclaimed
no_mounts() { ! grep "$WORK" /proc/self/mountinfo | grep -E '/staging/|/per-alloc/'; }
eventually 10 "mounts are left" no_mounts
expect 0 "Successfully deleted volume" drover volume delete data
kill -TERM "$AGENT"
eventually 20 "the agent does not stop" gone "$AGENT"
no_plugin || fail "the plugin did not end with the agent"
[ -z "$(ls agent-data/client/csi/programs agent-data/client/csi/output | grep hostpath$)" ] || fail "folders are left"
grep -q 'hush-4711' agent.log && fail "a secret of the plugin's environment is in the log"

# --- a plugin that the configuration names no more is ended, whatever a killed agent left
start agent
eventually 40 "the plugin is not healthy" is_healthy
kill -9 "$AGENT"
eventually 10 "the agent still runs" gone "$AGENT"
sed -i '/^plugin "hostpath"/,$d' agent.hcl
start agent
eventually 20 "the plugin was not ended" no_plugin
eventually 20 "the plugin is still known" bash -c "! '$DROVER' plugin status hostpath > /dev/null 2>&1"
passed
