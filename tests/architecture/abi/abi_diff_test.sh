#!/usr/bin/env bash
# The stable ABI as a plugin's debug information shows it, against the record of version 1.0. A struct that grows, or a
# function with another type, is a difference too: a new minor version gets a record of its own beside the old one.
#   abidw --no-comp-dir-path --no-corpus-path --no-show-locs --type-id-style hash LIBRARY > abi-1.N.xml
set -u
: "${LIBRARY:?names a plugin with debug information}" "${RECORD:?names the record}"
command -v abidiff > /dev/null || { echo "skipped: the package abigail-tools is missing (abidiff)"; exit 77; }
[ "$(uname -m)" = x86_64 ] || { echo "skipped: the record is that of x86-64"; exit 77; }
abidiff --no-show-locs "$RECORD" "$LIBRARY" || { echo "FAILED: the ABI differs from $RECORD, as said above" >&2; exit 1; }
# It can fail: the same record with some fields elsewhere.
broken=$(mktemp)
trap 'rm -f "$broken"' EXIT
sed "s/layout-offset-in-bits='192'/layout-offset-in-bits='256'/" "$RECORD" > "$broken"
if abidiff --no-show-locs "$broken" "$LIBRARY" > /dev/null; then echo "FAILED: fields that have moved are not noticed" >&2; exit 1; fi
echo "the ABI is that of the record"
