#!/usr/bin/env bash
# A real agent with a storage plugin that misbehaves: fault by fault, what must hold. FAULTY is drover-csi-hostpath with
# faults that the files of a folder order (csi/hostpath/testing/faults.h).
#
# After each fault: no claim, no mount, no folder of a volume is left; the storage has nothing attached, staged or
# published; no two calls for one volume were under way at a time; secrets stand neither in logs nor in answers of the API.
# Deaths and silence take long: of those only some are tried, unless EVERY_FAULT is set.
. "$(dirname "$0")/lib.sh"
[ "$(id -u)" -eq 0 ] || { echo "skipped: mounting volumes takes root" >&2; exit 77; }

SECRET=hush-hush-4711
FAULTS=$WORK/faults
mkdir "$FAULTS"
config agent << CONFIG
plugin "faulty" {
  kind = "csi"
  config {
    command        = "$FAULTY"
    args           = ["--node-id", "one", "--data-dir", "$WORK/storage", "--attach"]
    type           = "monolith"
    health_timeout = "10s"
    env {
      FAULTS = "$FAULTS"
    }
  }
}
CONFIG
cd "$WORK" || exit 1
drover() { "$DROVER" "$@"; }
start agent
is_healthy() { drover plugin status faulty | grep -Eq '^Nodes Healthy *= *1$'; }
eventually 40 "the plugin is not healthy: $(drover plugin status faulty 2>&1)" is_healthy

NODE=$(drover operator api /v1/nodes | grep -oE '"ID": ?"[0-9a-f-]{36}"' | head -n 1 | cut -d '"' -f 4)
cat > data.hcl << VOLUME
id        = "data"
name      = "data"
type      = "csi"
plugin_id = "faulty"
capability {
  access_mode     = "single-node-writer"
  attachment_mode = "file-system"
}
secrets {
  password = "$SECRET"
}
VOLUME
cat > user.hcl << 'JOB'
job "user" {
  group "g" {
    restart {
      attempts = 0
      mode     = "fail"
    }
    reschedule {
      attempts  = 0
      unlimited = false
    }
    volume "data" {
      type            = "csi"
      source          = "data"
      access_mode     = "single-node-writer"
      attachment_mode = "file-system"
    }
    task "t" {
      driver = "exec"
      config {
        command = "/bin/sh"
        args    = ["-c", "echo written >> /data/log; cat /data/log; exec sleep 3600"]
      }
      resources {
        memory = 20
      }
      volume_mount {
        volume      = "data"
        destination = "/data"
      }
    }
  }
}
JOB

UP="ControllerPublishVolume NodeStageVolume NodePublishVolume"
DOWN="NodeUnpublishVolume NodeUnstageVolume ControllerUnpublishVolume"
plant() { # METHODS FAULT: from the next call on
  local method
  for method in $1; do echo "$2" > "$FAULTS/.$method" && mv "$FAULTS/.$method" "$FAULTS/$method"; done
}
heal() { find "$FAULTS" -type f ! -name calls -delete; }
pending() { find "$FAULTS" -type f ! -name calls -size +0; }
calls() { grep -c "^$1 .* $2 " "$FAULTS/calls"; } # begin|end METHOD

WRITTEN=0 USERS=0
begin_user() { # each time a job of another name
  JOB=user$((++USERS))
  sed "s/job \"user\"/job \"$JOB\"/" user.hcl > "$JOB.hcl"
  expect 0 "Job registration successful" drover job run -detach "$JOB.hcl"
}
# Placed, or failed already.
has_user() {
  ALLOC=$(drover job status "$JOB" 2> /dev/null | awk '/^Allocations/ { on = 1; next } on && NF && !/^ID/ { print $1; exit }')
  [ -n "$ALLOC" ] && [ "$ALLOC" != No ]
}
run_user() {
  begin_user
  eventually 30 "the job is not placed: $(drover job status "$JOB" 2>&1)" has_user
}
writes() { [ "$(drover alloc logs "$ALLOC" 2> /dev/null | grep -c written)" = "$((WRITTEN + 1))" ]; }
stop_user() { expect 0 "" drover job stop -detach -purge "$JOB"; }
unclaimed() { drover volume status -json data | grep -q '"Claims": null'; }
no_mounts() { ! grep "$WORK" /proc/self/mountinfo | grep -E '/staging/|/per-alloc/'; }
no_folders() { ! find agent-data/client/csi/monolith/faulty -mindepth 2 | grep .; }
idle_storage() { ! tr -d ' \n' < "$WORK/storage/state.json" | grep -oE '"(staged|published|attached)":\[\{.*'; }
# One call at a time for a volume, in one life of the plugin.
check_calls() {
  awk '$1 == "begin" && $5 != "-" { if (open[$3, $5]++) { print "two at once: " $0; bad = 1 } }
       $1 == "end" && $5 != "-" { open[$3, $5]-- }
       END { exit bad }' "$FAULTS/calls" || fail "two calls for one volume at a time"
}
check_secrets() {
  grep -q "$SECRET" agent.log && fail "the secret is in the log: $(grep -m1 "$SECRET" agent.log)"
  local path
  for path in volume/csi/data volumes?type=csi plugin/csi/faulty agent/self allocations volume/csi/data/claims; do
    drover operator api "/v1/$path" 2>&1 | grep -q "$SECRET" && fail "the secret is in /v1/$path"
  done
  { drover volume claims explain data; drover alloc status "$ALLOC"; drover alloc status -json "$ALLOC"; drover node status -verbose "$NODE"; } 2>&1 |
    grep -q "$SECRET" && fail "the secret is in what commands show"
  return 0
}
all_clean() {
  eventually 90 "$1: a claim is left: $(drover volume claims explain data 2>&1)" unclaimed
  eventually 10 "$1: mounts are left" no_mounts
  eventually 10 "$1: folders are left" no_folders
  eventually 10 "$1: the storage holds something: $(cat "$WORK/storage/state.json")" idle_storage
  check_calls
  check_secrets
  CHECKS=$((CHECKS + 6))
}
# The allocation runs in spite of the fault, and all is undone in spite of it.
survives() { # NAME METHODS FAULT
  echo "- $1"
  eventually 60 "$1: the plugin is not healthy" is_healthy
  plant "$2" "$3"
  run_user
  eventually 90 "$1: the task does not run: $(drover alloc status "$ALLOC" 2>&1)" writes
  WRITTEN=$((WRITTEN + 1))
  stop_user
  all_clean "$1"
  [ -z "$(pending)" ] || fail "$1: the fault was not met: $(pending)"
}
# The allocation fails and says why, and all is undone.
refuses() { # NAME METHODS FAULT TEXT
  echo "- $1"
  eventually 60 "$1: the plugin is not healthy" is_healthy
  plant "$2" "$3"
  run_user
  eventually 60 "$1: the allocation does not fail: $(drover alloc status "$ALLOC" 2>&1)" tells "$ALLOC" '^Client Status *= *failed'
  expect 0 "$4" drover alloc status "$ALLOC"
  expect 0 'volume "data"' drover alloc status "$ALLOC"
  check_secrets
  heal
  stop_user
  all_clean "$1"
}

expect 0 "Created external volume" drover volume create data.hcl
schedulable() { drover volume status data | grep -Eq '^Schedulable *= *true$'; }
eventually 10 "the volume cannot be used" schedulable

# --- faults that pass
survives "each call fails once with 14"                   "$UP $DOWN" "1 fail 14"
survives "each call is done, and its answer is lost"      "$UP $DOWN" "1 lost 14"
survives "another call is pending, twice"                 "$UP $DOWN" "2 fail 10"
survives "too much to do"                                 "$UP $DOWN" "1 fail 8"
survives "done, and it says that it took too long"        "$UP $DOWN" "1 lost 4"
survives "each answer is late"                            "$UP $DOWN" "1 late 2"
survives "undoing fails for a reason of its own"          "$DOWN" "2 fail 13"
survives "undone, and it says that it is not"             "$DOWN" "1 lost 13"
survives "undoing a volume that it does not know"         "$DOWN" "1 lost 5"
survives "it says that it has unmounted, and has not"     "NodeUnpublishVolume" "1 empty"
survives "answers that are no messages, undoing"          "$DOWN" "1 garbage"
# The pauses before a plugin is started again grow, and begin anew with the agent.
restart_agent() {
  kill -TERM "$AGENT"
  eventually 20 "the agent does not stop" gone "$AGENT"
  start agent
}
DIES="NodeStageVolume ControllerUnpublishVolume"
[ -z "${EVERY_FAULT:-}" ] || DIES="$UP $DOWN"
for method in $DIES; do
  restart_agent
  survives "it dies before $method, and after it" "$method" $'1 die\n1 died'
done
restart_agent

# --- faults that do not
refuses "the volume cannot be attached"       ControllerPublishVolume "1 fail 3"  "planted"
refuses "the volume is not there any more"    ControllerPublishVolume "1 fail 5"  "planted"
refuses "staging is forbidden"                NodeStageVolume         "1 fail 7"  "planted"
refuses "publishing is not implemented"       NodePublishVolume       "1 fail 12" "planted"
refuses "done, and it says that it failed"    "NodePublishVolume"     "1 lost 13" "planted, after the work"
refuses "it says OK and mounts nothing"       NodePublishVolume       "1 empty"   "nothing is mounted at"
refuses "it unmounts behind the back"         NodePublishVolume       "1 unmount" "nothing is mounted at"
refuses "an answer that is no message"        NodePublishVolume       "1 garbage" "the plugin's answer is not a message"
refuses "secrets in the error of attaching"   ControllerPublishVolume "1 tells 3" "planted, with [REDACTED]"
refuses "secrets in the error of staging"     NodeStageVolume         "1 tells 3" "planted, with [REDACTED]"
refuses "secrets in the error of publishing"  NodePublishVolume       "1 tells 3" "planted, with [REDACTED]"
logged agent 'told: \[REDACTED\]' || fail "what the plugin printed is not in the log without the secret"

# --- a call that never ends: the job is stopped meanwhile, and everything is undone
does_not_answer() { # METHOD FAULT
  echo "- $1 does not answer ($2)"
  eventually 60 "the plugin is not healthy" is_healthy
  plant "$1" "1 $2"
  before=$(calls begin "$1")
  run_user
  begun() { [ "$(calls begin "$1")" -gt "$before" ]; }
  eventually 40 "$1 is not called" begun "$1"
  stop_user
  all_clean "$1 does not answer"
}
# A controller that never answers: the call is given up after two minutes, and undone once.
controller_does_not_answer() {
  echo "- ControllerPublishVolume does not answer"
  plant ControllerPublishVolume "1 never"
  attached=$(calls begin ControllerPublishVolume) detached=$(calls begin ControllerUnpublishVolume)
  run_user
  begun() { [ "$(calls begin ControllerPublishVolume)" -gt "$attached" ]; }
  eventually 40 "ControllerPublishVolume is not called" begun
  stop_user
  eventually 180 "a claim is left: $(drover volume claims explain data 2>&1)" unclaimed
  all_clean "ControllerPublishVolume does not answer"
  [ "$(calls begin ControllerUnpublishVolume)" = $((detached + 1)) ] || fail "it was not detached once"
}
does_not_answer NodePublishVolume never
if [ -n "${EVERY_FAULT:-}" ]; then
  does_not_answer NodePublishVolume hang
  does_not_answer NodeStageVolume never
  does_not_answer NodeStageVolume hang
  controller_does_not_answer
fi

# --- it hangs in Probe: its volumes are placed nowhere until it is well
echo "- it is not ready"
plant Probe "always fail 9"
unwell() { drover plugin status faulty | grep -Eq '^Nodes Healthy *= *0$'; }
eventually 60 "the plugin is not unhealthy" unwell
begin_user
waits() { drover job status "$JOB" | grep -q 'faulty'; }
eventually 20 "the job does not say what it waits for: $(drover job status "$JOB")" waits
heal
eventually 60 "the plugin is not well again" is_healthy
eventually 60 "the job is not placed when the plugin is well" has_user
eventually 60 "the task does not run" writes
WRITTEN=$((WRITTEN + 1))

# --- it says another node's name after a restart: what was attached is detached by the name that it had
echo "- another node id after a restart"
plant NodeGetInfo "always named other"
pid_of_plugin() { awk '$1 == "begin" { pid = $3 } END { print pid }' "$FAULTS/calls"; }
kill -9 "$(pid_of_plugin)"
renamed() { drover operator api "/v1/node/$NODE" | grep -qE '"ID": ?"other"'; }
eventually 60 "the plugin is not known by its other name" renamed
stop_user
all_clean "another node id"
[ "$(awk '$4 == "ControllerUnpublishVolume" { node = $6 } END { print node }' "$FAULTS/calls")" = one ] ||
  fail "detached from another node than it was attached to"
heal
restart_agent
named_one() { ! renamed && is_healthy; }
eventually 60 "the plugin does not have its name again" named_one

# --- capabilities that lie, and answers that break the contract
echo "- answers that break the contract"
sed 's/"data"/"other"/' data.hcl > other.hcl
plant CreateVolume "1 empty"
expect 1 'volume "other"' drover volume create other.hcl
plant CreateVolume "1 tells 3"
expect 1 "planted, with [REDACTED]" drover volume create other.hcl
plant ValidateVolumeCapabilities "1 empty"
{ cat other.hcl; echo 'external_id = "elsewhere"'; } > registered.hcl
expect 1 'volume "other"' drover volume register registered.hcl
plant DeleteVolume "1 fail 9"
expect 1 "planted" drover volume delete data
expect 0 "data" drover volume status data
expect 1 'No volumes with prefix or ID "other"' drover volume status other
plant CreateVolume "1 fail 12"
expect 1 "planted" drover volume create other.hcl
expect 1 'No volumes with prefix or ID "other"' drover volume status other

# --- nothing is left
heal
expect 0 "Successfully deleted volume" drover volume delete data
check_secrets
check_calls
grep -q "$SECRET" -r agent-data/client && fail "the secret is on the node's disk"
kill -TERM "$AGENT"
eventually 20 "the agent does not stop" gone "$AGENT"
passed
