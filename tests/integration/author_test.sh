#!/usr/bin/env bash
# An author's day, outside of this tree: installs drover into a folder, has it write a plugin of each kind, builds them
# and the examples against what was installed, tests them, and tries some by hand.
set -euo pipefail
BUILD=${BUILD:?the build folder} EXAMPLES=${EXAMPLES:?the folder of the example plugins}
folder=$(mktemp -d /tmp/drover-author-XXXXXX)
trap 'rm -rf "$folder"' EXIT
fail() { printf '%s\n' "$*" >&2; exit 1; }
expect() { grep -qF -- "$1" <<< "$2" || fail "expected \"$1\" in:
$2"; }

prefix=$folder/prefix
cmake --install "$BUILD" --prefix "$prefix" > "$folder/install.log" || { tail "$folder/install.log" >&2; exit 1; }
drover=$prefix/bin/drover
launcher=
export CCACHE_BASEDIR=$folder CCACHE_NOHASHDIR=1  # the folder is another one each time, its content is not
command -v ccache > /dev/null && launcher=-DCMAKE_CXX_COMPILER_LAUNCHER=ccache

# A plugin that must not be written is not, and the command says why.
expect 'no kind of plugin' "$("$drover" plugin new sandwich ham 2>&1 || true)"
expect 'small letters' "$("$drover" plugin new driver 'Ham & Eggs' 2>&1 || true)"
expect 'the name of a storage plugin has no _' "$("$drover" plugin new csi web_cam 2>&1 || true)"

# Builds a project and passes its tests; those of the examples are tests of the suite already.
build() { # FOLDER
  { cmake -S "$1" -B "$1/build" -G Ninja -DCMAKE_BUILD_TYPE=Dev -DCMAKE_PREFIX_PATH="$prefix" $launcher && cmake --build "$1/build" -j 2 &&
    { [[ $1 = examples/* ]] || ctest --test-dir "$1/build" -j 4 --output-on-failure; }; } > "$1.log" 2>&1 ||
    { tail -n 60 "$1.log" >&2; fail "$1 does not build and pass its tests"; }
}
export prefix launcher
export -f build fail
# Some at once: much of each is one step after another, or waits.
build_all() { printf '%s\n' "$@" | xargs -P 3 -I FOLDER bash -c 'build FOLDER'; } # FOLDER…

cd "$folder"
for kind in driver device check service auth csi; do
  "$drover" plugin new $kind "my-$kind" > /dev/null
  expect 'is there and not empty' "$("$drover" plugin new $kind "my-$kind" 2>&1 || true)"
done
cp -r "$EXAMPLES" examples  # such projects, too
build_all my-{driver,device,check,service,auth,csi} examples/{hello,hello_c,nap,redis_ping,slots}
for kind in driver device check service auth csi; do expect '100% tests passed' "$(cat "my-$kind.log")"; done
for example in hello hello_c nap redis_ping slots; do
  expect 'passes every check' "$("$drover" plugin check "examples/$example/build/$example.so" 2>&1)"
done
# The author's part of a working driver is less than sixty lines.
[ "$(wc -l < my-driver/my-driver.cc)" -lt 60 ] || fail "the driver has $(wc -l < my-driver/my-driver.cc) lines"

# An author's plugin inside the agent is of the stable tier; one word in the manifest makes it one of the exact tier.
cd my-driver
expect 'drover_plugin_open' "$(nm -D --defined-only build/my-driver.so)"
sed -i 's/"stable"/"exact"/' plugin.json
cmake --build build --target my-driver_plugin > "$folder/exact.log" 2>&1 || { tail "$folder/exact.log" >&2; fail "the exact tier does not build"; }
expect 'drover_module_open' "$(nm -D --defined-only build/my-driver.so)"
expect 'passes every check' "$("$drover" plugin check build/my-driver.so 2>&1)"
# A manifest that does not fit ends the build, and the error says where.
sed -i 's/"exact"/"stable"/; s/"task_driver"/"module"/' plugin.json
expect 'plugin.json: a plugin of kind "module" is C++ of one build: its "tier" is "exact"' "$(cmake build 2>&1 | tr -s ' \n' ' ')"
sed -i 's/"module"/"task_driver"/; s/"stable"/"sable"/' plugin.json
expect '"tier" is "sable"; it must be "stable" or "exact"' "$(cmake build 2>&1 | tr -s ' \n' ' ')"
sed -i 's/"sable"/"stable"/' plugin.json
sed 's/^DROVER_TASK_DRIVER.*/DROVER_MODULE(int, "task_driver", "my-driver", "0.1.0");/' my-driver.cc > module.cc
cd ..

# By hand: a task is started, survives the plugin's death, and is found again.
cat > task.hcl << 'HCL'
command = "/bin/sleep"
args    = ["600"]
HCL
id=5f1c7d2e-0000-4000-8000-000000000001/web/0a1b2c3d
session=$("$drover" plugin run my-driver/build/my-driver-plugin << TEXT || true
info
start task.hcl $id
inspect $id
kill
inspect $id
recover $id
stop $id
wait $id
destroy $id
no-such-command
TEXT
)
expect '"name": "my-driver"' "$session"
expect '"state": "RUNNING"' "$session"
expect 'task not found for given id' "$session"
expect '"signal": 2' "$session"
expect 'there is no command "no-such-command"' "$session"

# The other kinds by hand.
cat > age.hcl << 'HCL'
path    = "/no/such/file"
max_age = "1h"
HCL
session=$("$drover" plugin run my-check/build/my-check-plugin << 'TEXT' || true
describe
check file_age age.hcl
check size age.hcl
TEXT
)
expect '"name": "file_age"' "$session"
expect '"status": "CRITICAL"' "$session"
expect 'there is no check type "size"' "$session"
printf 'UsersFile = "%s"\n' "$folder/my-auth/users" > users.hcl
session=$("$drover" plugin run my-auth/build/my-auth-plugin << 'TEXT' || true
login users.hcl ada:lovelace
login users.hcl ada:byron
TEXT
)
expect '"subject": "ada"' "$session"
expect 'unauthenticated' "$session"
session=$("$drover" plugin run -config my-service/build/config.hcl my-service/build/my-service-plugin << 'TEXT'
sync node-1 web=192.0.2.7:8080
TEXT
)
expect '192.0.2.7:8080' "$(cat my-service/build/published/node-1.json)"

# Reports for machines, and a check alone.
"$drover" plugin test -run stop.idempotent -task my-driver/conformance.hcl -junit report.xml my-driver/build/my-driver-plugin > /dev/null
expect 'a stopped task can be stopped again' "$(cat report.xml)"
expect '"passed": 1' "$("$drover" plugin test -json -run stop.idempotent my-driver/build/my-driver-plugin)"
expect 'FILE' "$("$drover" plugin test -help)"

# Without CMake's package: pkg-config.
if command -v pkg-config > /dev/null; then
  export PKG_CONFIG_PATH=$prefix/lib/pkgconfig
  expect "$prefix/lib/pkgconfig/../../include" "$(pkg-config --cflags drover)"
  # By hand, and by another compiler where there is one: what it makes loads into this drover all the same.
  by_hand() { $1 -std=c++20 -fPIC -fvisibility=hidden -DDROVER_STABLE_TIER $(pkg-config --cflags drover) -c "$2" -o "${3:-by_hand.o}"; }
  for compiler in $(command -v clang++-14 clang++ || echo c++); do
    by_hand "$compiler" my-driver/my-driver.cc
    $compiler -shared -o by_hand.so by_hand.o $(pkg-config --variable=stable_entry drover) $(pkg-config --variable=stable_libs drover)
    cp my-driver/plugin.json by_hand.json
    expect 'passes every check' "$("$drover" plugin check by_hand.so 2>&1)"
    expect '0 failed' "$("$drover" plugin test -run start -task my-driver/conformance.hcl by_hand.so)"
    names=(command process-driver result status options task-config main)  # whatever the name, it compiles
    for name in "${names[@]}"; do "$drover" plugin new -dir "named-$name" driver $name > /dev/null; done
    export -f by_hand
    grep '^#include' my-driver/my-driver.cc > read.h  # what all of them read, once
    by_hand "$compiler -x c++-header" read.h read.h.gch
    printf '%s\n' "${names[@]}" | xargs -P 2 -I NAME bash -c "by_hand '$compiler -fsyntax-only -include read.h' named-NAME/NAME.cc"
    expect 'DROVER_MODULE makes a plugin of the exact tier' "$(by_hand "$compiler -include read.h" my-driver/module.cc 2>&1 || true)"
    break
  done
fi
echo ok
