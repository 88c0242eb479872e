#!/usr/bin/env bash
# The job of a virtual machine in docs/operator/drivers.md under a real agent, with a guest that powers off at its button.
. "$(dirname "$0")/lib.sh"
: "${MAKE_GUEST:?names the program that writes an image}"
command -v qemu-system-x86_64 > /dev/null || { echo "missing: qemu-system-x86_64 (the package qemu-system-x86)"; exit 77; }
PAGE=$(dirname "$0")/../../docs/operator/drivers.md

mkdir "$WORK/images"
"$MAKE_GUEST" "$WORK/images/web.img" || fail "no image"
from_page() { indented_example "$1" "$PAGE" | sed "s#/srv/images#$WORK/images#"; }
config one < <(from_page 'plugin "qemu"')
start one
NODE=$("$DROVER" node status | awk '/ ready$/ { print $1 }')
has_qemu() { "$DROVER" node status -verbose "$NODE" | grep -q "driver.qemu.version *= *[0-9]"; }
eventually 20 "the node does not tell the version of its qemu" has_qemu

from_page 'job "machine"' > "$WORK/machine.hcl"
expect 0 "" "$DROVER" job run -detach "$WORK/machine.hcl"
eventually 20 "the page's job is not placed" has_alloc machine
ALLOC=$(alloc_of machine)
eventually 60 "the guest does not come up" prints "$ALLOC" 'guest is up'

# The port that the group has is forwarded, and both sockets lie in the task's folder.
qemu() { grep -l -z "^NOMAD_ALLOC_ID=$ALLOC" /proc/[0-9]*/environ 2> /dev/null | grep -o '[0-9]*' | head -n 1; }
MACHINE=$(qemu) || fail "no process of the machine"
WORDS=$(tr '\0' ' ' < "/proc/$MACHINE/cmdline")
case $WORDS in *"hostfwd=tcp:"*"-:80 "*) ;; *) fail "no port is forwarded: $WORDS" ;; esac
for socket in qm.sock qa.sock; do
  compgen -G "$WORK/one-data/alloc/*/server/$socket" > /dev/null || fail "there is no $socket"
done
expect 1 "" "$DROVER" alloc exec "$ALLOC" true

# Stopped, the guest powers off by itself.
expect 0 "" "$DROVER" job stop -detach machine
eventually 60 "the machine does not end" gone "$MACHINE"
eventually 10 "the guest did not power off" prints "$ALLOC" 'guest powers off'

# An image of somewhere else is refused.
sed 's/"machine"/"thief"/; s#image_path .*#image_path = "/etc/passwd"#' "$WORK/machine.hcl" > "$WORK/thief.hcl"
expect 0 "" "$DROVER" job run -detach "$WORK/thief.hcl"
refused() { local alloc; alloc=$("$DROVER" job status thief | awk '/^Allocations/ { found = 1; getline; next } found { print $1; exit }') && tells "$alloc" 'image_path is not in the allowed paths'; }
eventually 30 "the refused image is not named" refused
passed
