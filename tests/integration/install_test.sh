#!/usr/bin/env bash
# `cmake --install build` takes only what `./dev build` leaves: every product that an install script names is needed by the
# target `installed`. The whole suite builds more than that, so the install itself would not show what is missing.
set -euo pipefail
: "${BUILD:?the build folder}"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
ninja -C "$BUILD" -t graph installed | sed -n 's/.*label="\([^"]*\)".*/\1/p' | sed "s|^$BUILD/||" | sort -u > "$folder/made"
ninja -C "$BUILD" -t targets all | sed -n 's/: [^ ]*$//p' | sed "s|^$BUILD/||" | sort > "$folder/products"
find "$BUILD" -name cmake_install.cmake -exec grep -oh "\"$BUILD/[^\"]*\"" {} + | sed "s|^\"$BUILD/||; s|\"$||" | sort -u > "$folder/taken"
comm -12 "$folder/taken" "$folder/products" > "$folder/wanted"
[ "$(wc -l < "$folder/wanted")" -gt 20 ] || { echo "the install scripts name only: $(cat "$folder/wanted")" >&2; exit 1; }
missing=$(comm -23 "$folder/wanted" "$folder/made")
[ -z "$missing" ] || { printf 'installed, but not built by the target `installed`:\n%s\n' "$missing" >&2; exit 1; }
