#!/usr/bin/env bash
# Devices under a real agent: published by a plugin, given to tasks, taken, free again, broken; in both forms of the plugin.
. "$(dirname "$0")/lib.sh"
: "${DRIVERS:?names the folder of the plugins that are programs}"
: "${FAKE_NVML:?names the folder of the library that pretends to be the driver of GPUs}"

mkdir "$WORK/plugins" "$WORK/ports"
cp "$DRIVERS/file-plugin" "$DRIVERS/nvidia-plugin" "$WORK/plugins"
echo zero > "$WORK/ports/tty0"
echo one > "$WORK/port-one"
ln -s "$WORK/port-one" "$WORK/ports/tty1"

# Configures the plugin of that name to publish the ports.
publishes() {
  cat << CONFIG
plugin "$1" {
  $2
  config {
    fingerprint_period = "100ms"
    device {
      vendor      = "acme"
      type        = "serial"
      name        = "usb"
      pattern     = "$WORK/ports/tty*"
      permissions = "r"
      attributes {
        speed  = 115200
        buffer = "4 KiB"
      }
    }
  }
}
CONFIG
}
# job NAME COUNT: keeps COUNT ports and says what it was given.
job() {
  cat > "$WORK/$1.nomad" << JOB
job "$1" {
  group "g" {
    task "t" {
      driver = "mock_driver"
      config {
        run_for       = "1h"
        show_given    = true
        stdout_string = "has \${SERIAL_DEVICES}\n"
      }
      resources {
        cpu    = 20
        memory = 16
        device "acme/serial" {
          count = $2
          constraint {
            attribute = "\${device.attr.buffer}"
            operator  = ">="
            value     = "4 KiB"
          }
          affinity {
            attribute = "\${device.model}"
            value     = "usb"
          }
        }
      }
    }
  }
}
JOB
}
# The API's answer on one line, without spaces behind names.
api() { "$DROVER" operator api "$1" | sed 's/^ *//; s/": */":/g' | tr -d '\n'; }
says() { local text=$1; shift; "$@" 2>&1 | tee "$WORK/said" | grep -q -- "$text" || { cat "$WORK/said"; return 1; }; }
replaced() { ALLOC=$(alloc_of "$1"); [ -n "$ALLOC" ] && [ "$ALLOC" != "$2" ]; }
has_alloc() { ALLOC=$(alloc_of "$1"); [ -n "$ALLOC" ]; }
full_id() { api /v1/allocations | grep -o "\"ID\":\"$1[^\"]*" | head -n 1 | cut -d '"' -f 4; }
node_id() { NODE=$(api /v1/nodes | grep -o '"ID":"[^"]*' | head -n 1 | cut -d '"' -f 4); [ -n "$NODE" ]; }
# ports HEALTHY ALL: as the node's status has them.
ports() { says "acme/serial/usb  [0-9]*/$2 *$1" "$DROVER" node status "$NODE"; }

# The whole story, once for each form of the plugin.
story() {
  eventually 20 "no node" node_id
  eventually 20 "the ports are not published" ports 2 2
  expect 0 '"speed":{"Bool":null,"Float":null,"Int":115200,"String":null,"Unit":""}' api "/v1/node/$NODE"
  expect 0 '"Int":4,"String":null,"Unit":"KiB"' api "/v1/node/$NODE"

  # One port for the first job: placed, named in a variable, mounted.
  expect 0 "" "$DROVER" job run -detach "$WORK/first.nomad"
  eventually 20 "no allocation" has_alloc first
  FIRST=$ALLOC
  eventually 20 "the port is not mounted" says "mount $WORK/ports/tty0 at $WORK/ports/tty0 read-only" "$DROVER" alloc logs "$FIRST"
  expect 0 "variable SERIAL_DEVICES=$WORK/ports/tty0" "$DROVER" alloc logs "$FIRST"
  expect 0 "has $WORK/ports/tty0" "$DROVER" alloc logs "$FIRST"
  expect 0 "\"DeviceIDs\":[\"$WORK/ports/tty0\"]" api "/v1/allocation/$(full_id "$FIRST")"

  # Its statistics are those of its port; the node's are those of both.
  eventually 20 "no statistics of the task's port" says '"DeviceStats":\[{"InstanceStats":{"/' api "/v1/client/allocation/$(full_id "$FIRST")/stats"
  eventually 20 "no statistics of the node's ports" says 'ports/tty1' api "/v1/client/stats?node_id=$NODE"
  expect 0 "Size of the file" api "/v1/client/stats?node_id=$NODE"

  # The second wants two, and there are two, but not now: it waits, and says why.
  expect 2 "devices: no devices match request" "$DROVER" job run "$WORK/second.nomad"
  expect 0 "devices: no devices match request" "$DROVER" job status second
  # The third wants more than there ever are.
  expect 2 "missing devices" "$DROVER" job run "$WORK/third.nomad"
  expect 0 "" "$DROVER" job stop -detach -purge third
  expect 0 "acme/serial/usb  1/2    2" "$DROVER" node status "$NODE"

  expect 0 "" "$DROVER" job stop -detach first
  eventually 20 "the second job is not placed" has_alloc second
  SECOND=$ALLOC
  eventually 20 "the second job has not both" says "has $WORK/ports/tty0,$WORK/ports/tty1" "$DROVER" alloc logs "$SECOND"

  # A new version takes both over from the old one, though there are no others.
  sed -i 's/cpu    = 2[0-9]/cpu    = 25/' "$WORK/second.nomad"
  expect 0 "" "$DROVER" job run -detach "$WORK/second.nomad"
  eventually 20 "the second job is not replaced" replaced second "$SECOND"
  SECOND=$ALLOC
  eventually 20 "the new version has not both" says "has $WORK/ports/tty0,$WORK/ports/tty1" "$DROVER" alloc logs "$SECOND"
  sed -i 's/cpu    = 25/cpu    = 20/' "$WORK/second.nomad"
}
job first 1
job second 2
job third 3

config one < <(
  printf 'plugin_dir = "%s/plugins"\nplugin "raw_exec" {\n  config {\n    enabled = true\n  }\n}\n' "$WORK"
  publishes file-plugin ""
)
start one
story

# The agent dies and comes back: the second job's devices stay taken.
kill -9 "$AGENT"
eventually 10 "the agent is still there" gone "$AGENT"
start one
eventually 20 "the ports are not published again" ports 2 2
expect 2 "devices: no devices match request" "$DROVER" job run "$WORK/first.nomad"
expect 0 "" "$DROVER" job stop -detach second
eventually 20 "the first job is not placed" has_alloc first

# A port breaks, and nothing more is placed on it.
rm "$WORK/port-one"
eventually 20 "the broken port is published as healthy" ports 1 2
expect 0 "ports/tty1: " "$DROVER" node status "$NODE"
expect 2 "missing devices" "$DROVER" job run "$WORK/second.nomad"
echo one > "$WORK/port-one"
eventually 20 "the port does not recover" ports 2 2
expect 0 "" "$DROVER" job stop -detach first
eventually 20 "the second job is not placed" has_alloc second
expect 0 "" "$DROVER" job stop -detach second

# GPUs: without the driver's library that is said, with one they are there.
if /sbin/ldconfig -p | grep -q libnvidia-ml.so.1; then
  echo "not checked here: what is said without the library libnvidia-ml.so.1, for this machine has it"
else
  expect 0 "no GPUs: the driver's management library is not on this machine" cat "$WORK/one.log"
fi
kill "$AGENT"
eventually 20 "the agent does not end" gone "$AGENT"
export LD_LIBRARY_PATH=$FAKE_NVML
start one
eventually 20 "the GPUs are not published" says '"Name":"Tesla T4"' api "/v1/node/$NODE"
cat > "$WORK/gpu.nomad" << JOB
job "gpu" {
  group "g" {
    task "t" {
      driver = "raw_exec"
      config {
        command = "/bin/sh"
        args    = ["-c", "echo sees \$NVIDIA_VISIBLE_DEVICES; exec sleep 1000"]
      }
      resources {
        cpu    = 20
        memory = 16
        device "nvidia/gpu" {
          count = 2
          constraint {
            attribute = "\${device.attr.memory}"
            operator  = ">"
            value     = "15 GiB"
          }
        }
      }
    }
  }
}
JOB
expect 0 "" "$DROVER" job run -detach "$WORK/gpu.nomad"
eventually 20 "the job is not placed" has_alloc gpu
eventually 20 "the GPUs are not named" says "sees GPU-1,GPU-2" "$DROVER" alloc logs "$ALLOC"
kill "$AGENT"
eventually 20 "the agent does not end" gone "$AGENT"
unset LD_LIBRARY_PATH

# The same plugin inside the agent; it is not loaded unless the operator says so.
config two < <(publishes file "enabled = true")
start two
story
kill "$AGENT"
eventually 20 "the agent does not end" gone "$AGENT"

# A wrong option is named before anything starts.
config three < <(publishes file "enabled = true" | sed 's/permissions = "r"/permisions = "r"/')
expect 1 "permisions" "$DROVER" agent -config "$WORK/three.hcl"
passed
