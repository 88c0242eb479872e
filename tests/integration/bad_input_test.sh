#!/usr/bin/env bash
# Bad input to the program: configuration, data folder, plugins, jobs, calls. Each is refused with its place, and
# nothing is changed by it.
. "$(dirname "$0")/lib.sh"

# --- configuration
printf 'server {\n  enabled = true\n  bootstrap_expct = 1\n}\n' > "$WORK/typo.hcl"
expect 1 "typo.hcl:3" "$DROVER" agent -config "$WORK/typo.hcl"
expect 1 'did you mean "bootstrap_expect"?' "$DROVER" agent -config "$WORK/typo.hcl"
printf 'ports { http = "many" }\nserver { enabled = true }\n' > "$WORK/type.hcl"
expect 1 "type.hcl:1" "$DROVER" agent -config "$WORK/type.hcl"
printf 'data_dir = "/tmp"\n' > "$WORK/none.hcl"
expect 1 "neither server nor client is enabled" "$DROVER" agent -config "$WORK/none.hcl"
printf 'server { enabled = true }\n' > "$WORK/nodata.hcl"
expect 1 "data_dir is not set" "$DROVER" agent -config "$WORK/nodata.hcl"
printf 'data_dir = "x"\nserver { enabled = true }\n' > "$WORK/relative.hcl"
expect 1 "is not absolute" "$DROVER" agent -config "$WORK/relative.hcl"
printf 'acl { enabled = true }\nplugin "acl" { enabled = false }\nserver { enabled = true }\ndata_dir = "%s/acl"\n' "$WORK" > "$WORK/acl.hcl"
expect 1 "no enabled plugin provides access control; enable plugin acl" "$DROVER" agent -config "$WORK/acl.hcl"
expect 1 "No such file or directory" "$DROVER" agent -config "$WORK/absent.hcl"
expect 1 'unknown option -conifg; did you mean "config"?' "$DROVER" agent -conifg x
expect 1 "typo.hcl:3" "$DROVER" plugin validate-config -config "$WORK/typo.hcl"
for option in enabled enabld; do
  printf '{"plugin": [{"raw_exec": [{"config": [{"%s": true}]}]}],\n "server": {"enabled": true}, "data_dir": "/tmp"}\n' $option > "$WORK/$option.json"
done
expect 0 "Configuration is valid!" "$DROVER" plugin validate-config -config "$WORK/enabled.json"
expect 1 'enabld.json:1: unknown option "enabld" in block "config"; did you mean "enabled"?' "$DROVER" plugin validate-config -config "$WORK/enabld.json"
printf '\nplugin {}\n' > "$WORK/label.hcl"
expect 1 'label.hcl:2: block "plugin" needs one label' "$DROVER" agent -config "$WORK/label.hcl"

# --- the data folder
: > "$WORK/afile"
printf 'data_dir = "%s/afile/data"\nserver { enabled = true }\n' "$WORK" > "$WORK/nofolder.hcl"
expect 1 "Not a directory" "$DROVER" agent -config "$WORK/nofolder.hcl"
mkdir "$WORK/newer"
echo 99 > "$WORK/newer/format"
printf 'data_dir = "%s/newer"\nserver { enabled = true }\n' "$WORK" > "$WORK/newer.hcl"
expect 1 "has format 99, this drover reads format 1" "$DROVER" agent -config "$WORK/newer.hcl"

# --- plugins
mkdir "$WORK/plugins"
printf 'plugin_dir = "%s/plugins"\ndata_dir = "%s/p-data"\nserver { enabled = true }\n' "$WORK" "$WORK" > "$WORK/plugins.hcl"
manifest() { printf '{"name":"%s","version":"1","sdk":"0.1","tier":"exact","kind":"module","roles":["server"]}' "$1"; }
manifest broken > "$WORK/plugins/broken.json"
printf 'not a program' > "$WORK/plugins/broken.so"
expect 1 "broken.so): is not an ELF file" "$DROVER" agent -config "$WORK/plugins.hcl"
chmod g+w "$WORK/plugins/broken.so"
expect 1 "run chmod go-w on it" "$DROVER" agent -config "$WORK/plugins.hcl"
rm "$WORK/plugins/broken.so" "$WORK/plugins/broken.json"
manifest jobs > "$WORK/plugins/other.json"
expect 1 "plugin jobs: claimed by" "$DROVER" agent -config "$WORK/plugins.hcl"
rm "$WORK/plugins/other.json"
printf '{"name":"x","versoin":"1"}' > "$WORK/plugins/x.json"
expect 1 'unknown key "versoin"; did you mean "version"?' "$DROVER" agent -config "$WORK/plugins.hcl"
rm "$WORK/plugins/x.json"
{ cat "$WORK/plugins.hcl"; echo 'plugin "grpc" { enabled = false }'; } > "$WORK/nowire.hcl"
expect 1 "no enabled plugin provides the wire between agents; enable plugin grpc" "$DROVER" agent -config "$WORK/nowire.hcl"
[ ! -e "$WORK/p-data" ] || fail "an agent without a wire made its data folder"

# --- a running agent: ports, folders
config one < /dev/null
start one
sed "s#one-data#two-data#; s#rpc  = .*#rpc = $(free_port)#" "$WORK/one.hcl" > "$WORK/two.hcl"
expect 1 "port $HTTP is in use by another program" "$DROVER" agent -config "$WORK/two.hcl"
sed "s#one-data#three-data#; s#http = .*#http = $(free_port)#" "$WORK/one.hcl" > "$WORK/three.hcl"
expect 1 "ports.rpc" "$DROVER" agent -config "$WORK/three.hcl"
sed "s#http = .*#http = $(free_port)#; s#rpc  = .*#rpc = $(free_port)#" "$WORK/one.hcl" > "$WORK/three.hcl"
expect 1 "in use" "$DROVER" agent -config "$WORK/three.hcl"

# --- jobs
printf 'job "x" {\n  grup "g" {}\n}\n' > "$WORK/x.hcl"
expect 1 'did you mean "group"?' "$DROVER" job run "$WORK/x.hcl"
printf 'job "x" {\n  type = "servce"\n  group "g" {\n    task "t" {}\n  }\n}\n' > "$WORK/x.hcl"
expect 1 'did you mean "service"?' "$DROVER" job run "$WORK/x.hcl"
expect 1 "has no driver" "$DROVER" job validate "$WORK/x.hcl"
expect 0 "No running jobs" "$DROVER" job status
cat > "$WORK/driver.hcl" << 'JOB'
job "x" {
  group "g" {
    task "t" {
      driver = "teleport"
    }
  }
}
JOB
expect 2 "missing drivers" "$DROVER" job run "$WORK/driver.hcl"
cat > "$WORK/constraint.hcl" << 'JOB'
job "y" {
  constraint {
    attribute = "${attr.kernel.name}"
    value     = "plan9"
  }
  group "g" {
    task "t" {
      driver = "mock_driver"
    }
  }
}
JOB
expect 2 '${attr.kernel.name} = plan9' "$DROVER" job run "$WORK/constraint.hcl"
expect 0 "Placement Failure" "$DROVER" job status y

# --- calls
expect 1 "No job(s) with prefix or ID \"nope\" found" "$DROVER" job status nope
expect 1 "job not found" "$DROVER" operator api /v1/job/nope
expect 1 "alloc not found" "$DROVER" operator api /v1/allocation/00000000-0000-0000-0000-000000000000
expect 1 "is not an identifier" "$DROVER" operator api /v1/allocation/xyz
expect 1 "invalid JSON at line 1" "$DROVER" operator api -X PUT /v1/jobs '{"Job":'
expect 1 "Job.TaskGroups: expected a list, found string" "$DROVER" operator api -X PUT /v1/jobs '{"Job":{"ID":"a","TaskGroups":"b"}}'
expect 1 "Invalid method" "$DROVER" operator api -X DELETE /v1/jobs
expect 1 "Invalid index" "$DROVER" operator api "/v1/jobs?index=x"
expect 1 "cannot reach the agent" "$DROVER" job status -address "http://127.0.0.1:$(free_port)"
expect 127 "Unknown command" "$DROVER" jbo status

# --- the log on disk: a byte in the middle of what was acknowledged
kill -9 "$AGENT"
eventually 10 "the agent still runs" gone "$AGENT"
SEGMENT=$(find "$WORK/one-data/server/raft" -name 'seg-*' | sort | head -n 1)
cp "$SEGMENT" "$WORK/segment"
printf '\377\377\377' | dd of="$SEGMENT" bs=1 seek=8200 conv=notrunc status=none
BEFORE=$(find "$WORK/one-data/server/raft" -type f | sort | xargs ls -l | awk '{print $5,$9}')
expect 1 "$(basename "$SEGMENT")" "$DROVER" agent -config "$WORK/one.hcl"
[ "$BEFORE" = "$(find "$WORK/one-data/server/raft" -type f | sort | xargs ls -l | awk '{print $5,$9}')" ] || fail "the refused log was changed"
cp "$WORK/segment" "$SEGMENT"
start one
expect 0 "y" "$DROVER" job status
passed
