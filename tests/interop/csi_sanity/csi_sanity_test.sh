#!/usr/bin/env bash
# csi-sanity, the public suite for storage plugins, over drover-csi-hostpath: file systems and block devices, with and without
# attachment. What is left afterwards (volumes, mounts, loop devices) is a failure, too.
set -u
: "${PLUGIN:?names drover-csi-hostpath}" "${PROGRAMS:?names a folder for the suite}"
WORK=$(mktemp -d "${TMPDIR:-/tmp}/drover-sanity-XXXXXX")
SERVER=''
exec {NEVER}<> <(:)  # a pipe into which nobody writes: reading it with a limit is a pause without a process

# shellcheck disable=SC2317  # called by the trap
clean_up() {
  [ -z "$SERVER" ] || kill -9 "$SERVER" 2> /dev/null
  awk -v work="$WORK/" 'index($5, work) == 1 { print $5 }' /proc/self/mountinfo | sort -r | while read -r dir; do umount -l "$dir"; done
  rm -rf "$WORK"
}
trap clean_up EXIT

skip() { echo "skipped: $*"; exit 77; }
fail() {
  printf 'FAILED: %s\n' "$*" >&2
  exit 1
}

[ "$(id -u)" -eq 0 ] || skip "mounts need root"
command -v go > /dev/null || skip "Go is missing (golang-go)"
mkdir -p "$PROGRAMS"
(cd "$(dirname "$0")" && timeout 600 go build -mod=readonly -o "$PROGRAMS/" github.com/kubernetes-csi/csi-test/v5/cmd/csi-sanity) \
  > "$WORK/go.log" 2>&1 || skip "csi-sanity cannot be had here: $(tail -n 1 "$WORK/go.log")"

# suite NAME PLUGIN_FLAGS SUITE_FLAGS
suite() {
  local place=$WORK/$1 lines
  mkdir "$place"
  # shellcheck disable=SC2086  # flags are words
  "$PLUGIN" --endpoint "unix://$place/csi.sock" --node-id one --data-dir "$place/data" --capacity 1TiB $2 > "$place/log" 2>&1 &
  SERVER=$!
  until grep -qs listening "$place/log"; do
    kill -0 "$SERVER" 2> /dev/null || fail "$1: the plugin does not start: $(cat "$place/log")"
    read -r -t 0.05 -u "$NEVER" || true
  done
  # shellcheck disable=SC2086
  "$PROGRAMS/csi-sanity" --csi.endpoint "$place/csi.sock" --csi.mountdir "$place/mnt" --csi.stagingdir "$place/stage" --ginkgo.no-color $3 > "$place/said" 2>&1 ||
    { cat "$place/said" >&2; fail "$1: csi-sanity is not content"; }
  grep -E ' Passed ' "$place/said" | sed "s/^/$1: /"
  kill "$SERVER"
  wait "$SERVER" || fail "$1: the plugin ended with code $?"
  SERVER=''
  lines=$(grep -c " $place/" /proc/self/mountinfo)
  [ "$lines" -eq 0 ] || fail "$1: $lines mounts are left"
  [ -z "$(ls "$place/data/volumes" "$place/data/snapshots" | grep -v ':$' | tr -d '\n')" ] || fail "$1: volumes are left"
  ! grep -qs "$place/" /sys/block/loop*/loop/backing_file || fail "$1: loop devices are left"
}

ATTACHING="--attach --max-volumes 8 --topology example.org/zone=a"
suite attached "$ATTACHING" "--csi.testnodevolumeattachlimit"
suite plain "" ""
if [ -w /dev/loop-control ]; then
  suite blocks "$ATTACHING" "--csi.testvolumeaccesstype=block --csi.testnodevolumeattachlimit"
else
  echo "without block devices: there is no /dev/loop-control"
fi
echo "csi_sanity_test: passed"
