#!/usr/bin/env bash
# Many templates that read one variable: COUNT of them in allocations of a hundred, on an agent that is its own server.
# Tells the time from the order to the last file that is there for the first time, and from a change of the variable to the
# last file that shows it, beside writing as many files in the same run; and how often the servers were asked.
#   template_bench.sh [COUNT]     5000
set -u
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
export DROVER=${DROVER:-$HERE/../../../build-release/bin/drover}
. "$HERE/../../integration/lib.sh"
COUNT=${1:-5000}
EACH=100  # templates of an allocation

job() {
  local i
  printf 'job "many" {\n  group "g" {\n    count = %s\n    update {\n      max_parallel = 0\n    }\n' $((COUNT / EACH))
  printf '    ephemeral_disk {\n      size = 10\n    }\n'
  printf '    task "t" {\n      driver = "mock_driver"\n      config {\n        run_for = "1h"\n      }\n'
  printf '      resources {\n        cpu    = 1\n        memory = 10\n      }\n'
  printf '      logs {\n        max_files     = 1\n        max_file_size = 1\n      }\n'
  for ((i = 0; i < EACH; i++)); do
    printf '      template {\n        destination = "local/f%s"\n        change_mode = "noop"\n' "$i"
    printf '        data        = "{{ with nomadVar \\"nomad/jobs/many\\" }}{{ .word }}{{ end }}"\n'
    printf '        wait {\n          min = "0s"\n        }\n      }\n'
  done
  printf '    }\n  }\n}\n'
}
now() { date +%s.%N; }
files() { find "$WORK"/one-data/alloc/*/t/local -name 'f*' -type f "$@"; }
show() { [ "$(files -exec cat {} + | grep -o "$1" | wc -l)" = "$COUNT" ]; }
last_written() { files -printf '%C@\n' | sort -n | tail -n 1; }
between() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%.2f", b - a }'; }
asked() {
  curl -sS "$NOMAD_ADDR/v1/metrics" | tr '{' '\n' | sed -n 's/.*"Count":\([0-9]*\).*"Name":"nomad.nomad.rpc.Variables.read".*/\1/p' | awk '{ n += $1 } END { print n + 0 }'
}
threads() { ls "/proc/$AGENT/task" | wc -l; }
memory_kb() { awk '/^VmRSS/ { print $2 }' "/proc/$AGENT/status"; }

config one << MORE
client {
  cpu_total_compute = 10000000
  memory_total_mb   = 10000000
  disk_free_mb      = 100000000
  disk_total_mb     = 100000000
  gc_max_allocs     = 100000
}
MORE
start one
"$DROVER" var put -force nomad/jobs/many word=first > /dev/null || fail "the variable is not taken"
# The same without an agent: a file beside each, which takes its place.
mkdir "$WORK/plain"
plain=$(perl -MTime::HiRes=time -e '
  my ($folder, $count) = @ARGV;
  my $began = time;
  for my $i (1 .. $count) {
    open(my $file, ">", "$folder/.f$i") or die;
    print $file "second";
    close $file;
    rename("$folder/.f$i", "$folder/f$i") or die;
  }
  printf "%.2f", time - $began;' "$WORK/plain" "$COUNT")
threads_before=$(threads) memory_before=$(memory_kb) asked_before=$(asked)
job > "$WORK/many.hcl"
began=$(now)
"$DROVER" job run -detach "$WORK/many.hcl" > /dev/null || fail "the job is refused"
eventually 300 "not all files are there" show first
first=$(between "$began" "$(last_written)")
asked_first=$(asked) threads_first=$(threads) memory_first=$(memory_kb)
began=$(now)
"$DROVER" var put -force nomad/jobs/many word=second > /dev/null || fail "the variable is not taken"
eventually 300 "not all files show the change" show second
second=$(between "$began" "$(last_written)")
asked_second=$(asked)
printf '%s templates in %s allocations\n' "$COUNT" $((COUNT / EACH))
printf '%-36s %8s s\n' 'as many plain files' "$plain" 'from the order to the last file' "$first" 'from the change to the last file' "$second"
printf '%-36s %8s\n' 'questions to servers, start' $((asked_first - asked_before)) 'questions to servers, change' $((asked_second - asked_first)) \
  'further threads' $((threads_first - threads_before)) 'further kB, a template' $(((memory_first - memory_before) / COUNT))
