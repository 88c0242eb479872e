#!/usr/bin/env bash
# Data folders that earlier builds left behind must open for ever. fixtures/data-folder-1.tar.gz is of a server alone that was
# killed with -9: the job "in-the-snapshot" lies in its newest snapshot at index 5, "in-the-log" behind it, up to index 7.
. "$(dirname "$0")/lib.sh"

tar -xzf "$(dirname "$0")/fixtures/data-folder-1.tar.gz" --one-top-level="$WORK/old-data"
chmod -R go= "$WORK/old-data"
expect 0 "Last index       = 7" "$DROVER" operator raft info "$WORK/old-data"
expect 0 "Snapshot         = 5" "$DROVER" operator raft info "$WORK/old-data"
expect 0 "in-the-log" "$DROVER" operator raft logs "$WORK/old-data"
expect 0 "in-the-snapshot" "$DROVER" operator raft state "$WORK/old-data"

config old < /dev/null
sed -i 's/^client {/client {\n  network_interface = "lo"/' "$WORK/old.hcl"
start old
for job in in-the-snapshot in-the-log; do expect 0 "$job" "$DROVER" job status; done
expect 0 '"kept": "one"' "$DROVER" job inspect in-the-snapshot
expect 0 '"kept": "two"' "$DROVER" job inspect in-the-log
expect 0 "b0a097c5-4429-4eec-b25f-df4e56bbae72" "$DROVER" operator raft list-peers
passed
