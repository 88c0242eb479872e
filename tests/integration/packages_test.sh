#!/usr/bin/env bash
# The Debian packages: built, looked at, unpacked into a folder of their own; the program in it runs an agent and a job,
# and a plugin is built with what lies there.
for tool in cpack dpkg-deb dpkg-shlibdeps; do
  command -v $tool > /dev/null || { echo "skipped: $tool is not installed"; exit 77; }
done
: "${BUILD:?the build folder}"
DROVER=$BUILD/bin/drover
. "$(dirname "$0")/lib.sh"

cpack -G DEB --config "$BUILD/CPackConfig.cmake" -B "$WORK/made" > "$WORK/cpack.log" 2>&1 || fail "cpack"
PACKAGE=$(find "$WORK/made" -maxdepth 1 -name 'drover_*.deb')
SDK=$(find "$WORK/made" -maxdepth 1 -name 'drover-sdk_*.deb')
[ -f "$PACKAGE" ] && [ -f "$SDK" ] || fail "not both packages: $(ls "$WORK/made")"

depends=$(dpkg-deb -f "$PACKAGE" Depends)
for library in libc6 libgrpc++ libprotobuf libssl; do
  case $depends in *"$library"*) ;; *) fail "it does not depend on $library: $depends" ;; esac
done
expect 0 libprotobuf-dev dpkg-deb -f "$SDK" Depends
dpkg-deb -e "$PACKAGE" "$WORK/control"
expect 0 /etc/drover.d/drover.hcl cat "$WORK/control/conffiles"
for script in postinst prerm postrm; do
  [ -x "$WORK/control/$script" ] || fail "$script cannot be executed"
  expect 0 "" sh -n "$WORK/control/$script"
done
ROOT=$WORK/root
dpkg-deb -x "$PACKAGE" "$ROOT"
dpkg-deb -x "$SDK" "$ROOT"
for file in usr/bin/drover usr/lib/drover/drover-launcher usr/lib/drover/plugins/jobs.so usr/lib/drover/drivers/raw_exec-plugin usr/lib/drover/drivers/exec-plugin \
  usr/lib/drover/drivers/java-plugin usr/lib/drover/drivers/qemu-plugin \
  lib/systemd/system/drover.service etc/drover.d/drover.hcl var/lib/drover usr/share/bash-completion/completions/drover \
  usr/share/doc/drover/copyright usr/share/doc/drover/changelog.gz usr/lib/libdrover_stable.a usr/include/drover/abi.h; do
  [ -e "$ROOT/$file" ] || fail "there is no /$file in the packages"
done
if command -v lintian > /dev/null; then
  # The project has no mail address; the search path is that of the prefix which this build was configured with.
  lintian --allow-root --fail-on error --suppress-tags bogus-mail-host,bogus-mail-host-in-debian-changelog,custom-library-search-path \
    "$PACKAGE" "$SDK" > "$WORK/lintian.log" 2>&1 || fail "lintian"
else
  echo "without lintian, which is not installed"
fi
if command -v systemd-analyze > /dev/null; then
  sed "s|/usr/bin/drover|$ROOT/usr/bin/drover|" "$ROOT/lib/systemd/system/drover.service" > "$WORK/drover.service"
  expect 0 "" systemd-analyze verify "$WORK/drover.service"
fi

# From here on the unpacked program runs.
DROVER=$ROOT/usr/bin/drover
expect 0 "v0." "$DROVER" version
expect 0 "Configuration is valid!" "$DROVER" plugin validate-config -config "$ROOT/etc/drover.d"
config one <<< "$RAW_EXEC"
start one
cat > "$WORK/hello.nomad" << 'JOB'
job "hello" {
  type = "batch"
  group "g" {
    task "t" {
      driver = "raw_exec"
      config {
        command = "/bin/echo"
        args    = ["out of the package"]
      }
    }
  }
}
JOB
expect 0 "" "$DROVER" job run -detach "$WORK/hello.nomad"
has_alloc() { ALLOC=$("$DROVER" job status hello | awk '/^Allocations/ { found = 1 } found && / run / { print $1; exit }'); [ -n "$ALLOC" ]; }
says() { local text=$1; shift; "$@" 2>&1 | tee "$WORK/said" | grep -q "$text" || { cat "$WORK/said"; return 1; }; }
eventually 20 "no allocation" has_alloc
eventually 20 "no output" says 'out of the package' "$DROVER" alloc logs "$ALLOC" t
kill -TERM "$AGENT"
eventually 20 "the agent does not end" gone "$AGENT"

# The SDK in it is found; the plugin that it makes is checked by the program beside it.
(cd "$WORK" && "$DROVER" plugin new device acme > /dev/null) || fail "no project is written"
sed -i 's/ EXECUTABLE / /' "$WORK/acme/CMakeLists.txt"
export CCACHE_BASEDIR=$WORK CCACHE_NOHASHDIR=1  # the folder is another one each time, its content is not
launcher=()
! command -v ccache > /dev/null || launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
{ cmake -G Ninja -S "$WORK/acme" -B "$WORK/acme/build" -DCMAKE_PREFIX_PATH="$ROOT/usr" "${launcher[@]}" &&
  cmake --build "$WORK/acme/build" --target acme_plugin; } > "$WORK/sdk.log" 2>&1 || fail "the packaged SDK builds no plugin"
expect 0 "Plugin acme 0.1.0 passes every check" "$DROVER" plugin check "$WORK/acme/build/acme.so"
passed
