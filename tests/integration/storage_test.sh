#!/usr/bin/env bash
# Volumes of a storage plugin: the page docs/operator/storage.md on a real agent, with a job that writes, one that reads
# after it, snapshots, clones, expansion, an agent that is killed, and nothing left over at the end. HOSTPATH is the plugin.
. "$(dirname "$0")/lib.sh"
PAGE=$(realpath "$(dirname "$0")/../../docs/operator/storage.md")
[ "$(id -u)" -eq 0 ] || { echo "skipped: mounting volumes takes root" >&2; exit 77; }

config agent <<< "$RAW_EXEC"
cd "$WORK" || exit 1
start agent
drover() { "$DROVER" "$@"; }

# --- the page: a plugin, a volume, a job that writes
example_of "$PAGE" | sed "s,/usr/lib/drover/csi/drover-csi-hostpath,$HOSTPATH,; s,/var/lib/drover-hostpath,$WORK/hostpath," > hostpath.hcl
indented_example 'id        = "data"' "$PAGE" > data.hcl
indented_example 'job "writer"' "$PAGE" > writer.hcl
is_healthy() { drover plugin status hostpath | grep -Eq '^Nodes Healthy *= *1$'; }
schedulable() { drover volume status "$1" | grep -Eq '^Schedulable *= *true$'; }
expect 0 "Job registration successful" drover job run -detach hostpath.hcl
eventually 40 "the plugin is not healthy: $(drover plugin status hostpath 2>&1)" is_healthy
expect 0 "Created external volume" drover volume create data.hcl
eventually 10 "the volume cannot be used" schedulable data
expect 0 "Job registration successful" drover job run -detach writer.hcl
eventually 20 "writer is not placed" has_alloc writer
WRITER=$(alloc_of writer)
eventually 40 "nothing is written: $(drover alloc status "$WRITER" 2>&1)" prints "$WRITER" written
expect 0 "single-node-writer" drover volume status data
expect 0 "the end of the allocation" drover volume claims explain data
expect 1 "volume in use: data" drover volume deregister data
expect 1 "volume in use: data" drover volume delete data

# --- a second writer waits, and comes when the first has gone
sed 's/job "writer"/job "second"/' writer.hcl > second.hcl
expect 0 "" drover job run -detach second.hcl
blocked() { drover job status second | grep -q 'exhausted its available writer claims'; }
eventually 20 "the second writer does not say what it waits for: $(drover job status second)" blocked

# --- an agent that is killed finds its mounts again, and leaves the running task alone
kill -9 "$AGENT"
eventually 10 "the agent still runs" gone "$AGENT"
start agent
eventually 40 "the plugin did not come back" is_healthy
eventually 20 "the task is not running any more" tells "$WRITER" 'running'
lines_of() { [ "$(drover alloc logs "$1" | grep -c written)" = "$2" ]; }
lines_of "$WRITER" 1 || fail "the task was started again: $(drover alloc logs "$WRITER")"
expect 0 "" drover job stop -detach writer
eventually 60 "the second writer did not get the volume: $(drover volume claims explain data 2>&1)" has_alloc second
SECOND=$(alloc_of second)
eventually 60 "the second writer does not see what the first wrote: $(drover alloc status "$SECOND" 2>&1)" lines_of "$SECOND" 2

# --- a snapshot and a clone of it
expect 0 "true" drover volume snapshot create data first
SNAPSHOT=$(drover volume snapshot list -plugin hostpath -verbose | awk 'NR == 2 { print $1 }')
[ -n "$SNAPSHOT" ] || fail "no snapshot: $(drover volume snapshot list -plugin hostpath)"
{ sed 's/"data"/"copy"/' data.hcl; echo "snapshot_id = \"$SNAPSHOT\""; } > copy.hcl
expect 0 "Created external volume" drover volume create copy.hcl
sed 's/job "writer"/job "copier"/; s/source *= "data"/source = "copy"/' writer.hcl > copier.hcl
expect 0 "" drover job run -detach copier.hcl
eventually 20 "copier is not placed" has_alloc copier
COPIER=$(alloc_of copier)
eventually 40 "the copy has other contents: $(drover alloc logs "$COPIER" 2>&1)" lines_of "$COPIER" 3

# --- larger, while it is in use
sed 's/capacity_min = "10MiB"/capacity_min = "20MiB"/' data.hcl > larger.hcl
expect 0 "" drover volume register larger.hcl
expect 0 '"Capacity": 20971520' drover volume status -json data

# --- all is given back, and nothing is left on the machine
for job in second copier; do expect 0 "" drover job stop -detach $job; done
unclaimed() { drover volume status -json "$1" | grep -q '"Claims": null'; }
eventually 60 "a claim on data is left: $(drover volume claims explain data 2>&1)" unclaimed data
eventually 60 "a claim on copy is left: $(drover volume claims explain copy 2>&1)" unclaimed copy
mounts_left() { grep "$WORK" /proc/self/mountinfo | grep -E '/staging/|/per-alloc/'; }
eventually 10 "mounts are left: $(mounts_left)" bash -c "! grep '$WORK' /proc/self/mountinfo | grep -qE '/staging/|/per-alloc/'"
expect 0 "" drover volume snapshot delete hostpath "$SNAPSHOT"
for volume in data copy; do expect 0 "Successfully deleted volume" drover volume delete $volume; done
expect 0 "No CSI volumes" drover volume status

# --- what is wrong is said, and changes nothing
sed 's/single-node-writer/everybody/' data.hcl > bad.hcl
expect 1 "access mode 'everybody' is none" drover volume create bad.hcl
sed 's/hostpath/tape/' data.hcl > bad.hcl
expect 1 "no CSI plugin named: tape could be found" drover volume create bad.hcl
expect 1 "volume not found" drover volume delete nowhere

# --- the plugin goes when its job does
expect 0 "" drover job stop -detach -purge hostpath
eventually 30 "the plugin is still known" bash -c "! '$DROVER' plugin status hostpath > /dev/null 2>&1"
passed
