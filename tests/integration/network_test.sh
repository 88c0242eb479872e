#!/usr/bin/env bash
# A group with a network of its own: its tasks, and what runs beside them, see that one and not the machine's; it outlives
# the agent and is gone with the last of them.
. "$(dirname "$0")/lib.sh"
: "${DRIVERS:?names the folder of the drivers programs}"
[ "$(id -u)" = 0 ] || { echo "skipped: network namespaces need root"; exit 77; }

mkdir "$WORK/plugins"
cp "$DRIVERS/raw_exec-plugin" "$WORK/plugins"
config one << CONFIG
plugin_dir = "$WORK/plugins"
$RAW_EXEC
plugin "raw_exec-plugin" {
  args = ["--name", "raw_two"]
  config {
    enabled      = true
    launcher_dir = "$WORK/launcher"
  }
}
CONFIG
# job NAME MODE: two tasks, one of a driver inside the agent, one of a program.
job() {
  cat > "$WORK/$1.nomad" << JOB
job "$1" {
  group "g" {
    network {
      mode = "$2"
    }
    task "one" {
      driver = "raw_exec"
      config {
        command = "/bin/sh"
        args    = ["-c", "readlink /proc/self/ns/net; exec sleep 3600"]
      }
      resources {
        cpu    = 20
        memory = 16
      }
    }
    task "two" {
      driver = "raw_two"
      config {
        command = "/bin/sh"
        args    = ["-c", "readlink /proc/self/ns/net; exec sleep 3600"]
      }
      resources {
        cpu    = 20
        memory = 16
      }
    }
  }
}
JOB
}
runs() { ALLOC=$(alloc_of "$1") && [ -n "$ALLOC" ] && [ "$("$DROVER" alloc status "$ALLOC" | grep -c 'is "running"')" = 2 ]; }
network_of() { "$DROVER" alloc logs "$ALLOC" "$1"; }
has_said() { [ -n "$(network_of one)" ] && [ -n "$(network_of two)" ]; }

start one
job alone none
expect 0 "" "$DROVER" job run -detach "$WORK/alone.nomad"
eventually 60 "the tasks do not run" runs alone
eventually 30 "the tasks have not said where they are" has_said
OWN=$(network_of one)
[ "$OWN" = "$(network_of two)" ] || fail "the tasks are in two networks: $OWN $(network_of two)"
[ "$OWN" != "$(readlink /proc/self/ns/net)" ] || fail "the tasks are in the machine's network"
for task in one two; do
  [ "$("$DROVER" alloc exec -task "$task" "$ALLOC" readlink /proc/self/ns/net)" = "$OWN" ] || fail "a command beside $task is elsewhere"
done
"$DROVER" alloc exec -task one "$ALLOC" cat /proc/net/dev | grep -q lo: || fail "there is no loopback device"
[ "$("$DROVER" alloc exec -task one "$ALLOC" cat /proc/net/dev | wc -l)" = 3 ] || fail "there are more devices than the loopback"
FILE=$(ls /run/netns | grep "^$ALLOC")
[ -n "$FILE" ] || fail "there is no file of it in /run/netns"
trap 'clean_up; umount "/run/netns/$FILE" && rm "/run/netns/$FILE"' EXIT

# The next agent finds it; a task that it starts again is in the same one.
kill -9 "$AGENT"
eventually 10 "the agent does not die" gone "$AGENT"
start one
eventually 60 "the tasks are lost" runs alone
expect 0 "" "$DROVER" alloc restart -task two "$ALLOC"
again() { [ "$(network_of two | wc -l)" = 2 ]; }
eventually 30 "the task has not started again" again
[ "$(network_of two | tail -n 1)" = "$OWN" ] || fail "the task that was started again is in another network"

expect 0 "" "$DROVER" job stop -detach alone
is_gone() { ! [ -e "/run/netns/$FILE" ]; }
eventually 60 "the network outlives its allocation" is_gone
trap clean_up EXIT

passed
