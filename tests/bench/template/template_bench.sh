#!/usr/bin/env bash
# Many templates of one node that read one variable: how often the servers are asked, how long a change takes until the
# last file is written, and what a template costs the node, beside reading the value once and writing as many files.
# The node is a process of its own. Times are those of the files (mtime). Needs root.
#   template_bench.sh [ALLOCATIONS [TEMPLATES [CHANGES]]]     100 50 5: 5,000 templates; IDLE_SECONDS (30) at rest
set -u
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
export DROVER=${DROVER:-$HERE/../../../build-release/bin/drover}
. "$HERE/../../integration/lib.sh"
COUNT=${1:-100} EACH=${2:-50} CHANGES=${3:-5}
ALL=$((COUNT * EACH))

server_and_node 'telemetry {
  prometheus_metrics = true
}' "client {
  cpu_total_compute = 10000000
  memory_total_mb   = 10000000
  disk_free_mb      = 10000000
  disk_total_mb     = 10000000
  gc_max_allocs     = 100000
}
$RAW_EXEC"
eventually 20 "no ready node" node_is_ready
has_key() { "$DROVER" operator root keyring list | grep -q active; }
eventually 20 "no root key" has_key

job() { # NAME TEMPLATES
  local i
  printf 'job "%s" {\n  group "g" {\n    count = %s\n    ephemeral_disk {\n      size = 10\n    }\n' "$1" "$COUNT"
  printf '    task "t" {\n      driver       = "raw_exec"\n      kill_timeout = "50ms"\n'
  printf '      config {\n        command = "/bin/sleep"\n        args    = ["100000"]\n      }\n'
  printf '      resources {\n        cpu    = 2\n        memory = 10\n      }\n'
  printf '      logs {\n        max_files     = 1\n        max_file_size = 1\n      }\n'
  for ((i = 0; i < $2; i++)); do
    printf '      template {\n        destination = "local/file-%s"\n        change_mode = "noop"\n' "$i"
    printf '        data        = "{{ with nomadVar \\"nomad/jobs\\" }}{{ .value }}{{ end }} %s\\n"\n' "$i"
    printf '        wait {\n          min = "0s"\n        }\n      }\n'
  done
  printf '    }\n  }\n}\n'
}
count_is() { [ "$("$DROVER" job status "$1" | awk '$1 == "g" { print $4; exit }')" = "$2" ]; }
runs() { # NAME TEMPLATES
  job "$1" "$2" > "$WORK/$1.hcl"
  "$DROVER" job run -detach "$WORK/$1.hcl" > /dev/null || fail "the job is not taken"
  eventually 600 "not all of $1 run" count_is "$1" "$COUNT"
}
put() { "$DROVER" var put -force -out=none nomad/jobs value="$1" > /dev/null || fail "the variable is not taken"; }
files() { find "$WORK/client-data/alloc" -path '*/t/local/file-*'; }
have() { [ "$(files | xargs cat | awk -v v="$1" '$1 == v { n++ } END { print n + 0 }')" -eq "$ALL" ]; }
# What the node has asked the servers about variables. The last read of each watch waits for its answer.
reads() {
  curl -s "$NOMAD_ADDR/v1/metrics?format=prometheus" |
    awk '/^nomad_nomad_rpc_NodeVariables_(read|list)[{]/ { sum += $2 } END { print sum + 0 }'
}
pss_kb() { awk '/^Pss:/ { print $2 }' "/proc/$CLIENT/smaps_rollup"; }
jiffies() { sed 's/.*) //' "/proc/$CLIENT/stat" | awk '{ print $12 + $13 }'; }
now_ms() { echo $(($(date +%s%N) / 1000000)); }
per() { awk -v a="$1" -v n="$2" -v f="${3:-1}" 'BEGIN { printf "%.3g", f * a / n }'; }
median() { sort -n | awk '{ all[NR] = $1 } END { print all[int((NR + 1) / 2)] }'; }
share() { # the node's share of a core at rest, in percent
  local used seconds=${IDLE_SECONDS:-30}
  used=$(jiffies)
  read -r -t "$seconds" -u "$NEVER" || true
  per $(($(jiffies) - used)) "$seconds" "$(per 100 "$(getconf CLK_TCK)")"
}
# The same work without templates: the value once, and each file written beside its place and renamed.
plain() { # VALUE: milliseconds, and those of a processor
  "$DROVER" var get nomad/jobs > "$WORK/value" || fail "the variable is not there"
  files | perl -MTime::HiRes=time -e '
    my ($value, @files) = (shift, map { chomp; $_ } <STDIN>);
    my $began = time;
    for (@files) {
      (my $to = $_) =~ s/file-/plain-/;
      open(my $out, ">", "$to.new") or die "$to: $!";
      print $out "$value\n";
      close($out);
      rename("$to.new", $to) or die "$to: $!";
    }
    my ($user, $system) = times;
    printf "%d %d\n", 1000 * (time - $began), 1000 * ($user + $system)' "$1"
}

none_kb=$(pss_kb)
runs bare 0
bare_share=$(share) bare_kb=$(pss_kb)
put first
asked=$(reads)
runs many "$EACH"
eventually 60 "not all files are there" have first
first_reads=$(($(reads) - asked))
many_share=$(share) many_kb=$(pss_kb)

asked=$(reads) used=$(jiffies)
for ((i = 1; i <= CHANGES; i++)); do
  began=$(now_ms)
  put "changed$i"
  eventually 120 "the change has not reached every file" have "changed$i"
  last=$(files | xargs stat -c %.Y | sort | tail -n 1)
  awk -v last="$last" -v began="$began" 'BEGIN { printf "%d\n", 1000 * last - began }' >> "$WORK/times"
  plain "changed$i" >> "$WORK/plain"
done
used=$(($(jiffies) - used)) change_reads=$(($(reads) - asked))

ms=$(median < "$WORK/times")
plain_ms=$(cut -d' ' -f1 "$WORK/plain" | median) plain_cpu=$(cut -d' ' -f2 "$WORK/plain" | median)
cpu_ms=$(per "$used" "$CHANGES" "$(per 1000 "$(getconf CLK_TCK)")")
printf '%s templates in %s allocations; %s changes\n' "$ALL" "$COUNT" "$CHANGES"
printf '%-58s %s\n' 'reads of the servers until all were written first' "$first_reads" \
  'reads of the servers for all changes' "$change_reads" \
  'a change until the last file, median, ms' "$ms" \
  'the same files written plainly, median, ms' "$plain_ms" \
  'change / plain' "$(per "$ms" "$plain_ms")" \
  'processor of the node for a change, ms' "$cpu_ms" \
  'processor for a template, us' "$(per "$cpu_ms" "$ALL" 1000)" \
  'processor of the plain writes, ms' "$plain_cpu" \
  'change / plain, processor' "$(awk -v a="$cpu_ms" -v b="$plain_cpu" 'BEGIN { printf "%.2f", a / b }')" \
  'memory of the node for a template, kB' "$(per $((many_kb - bare_kb - (bare_kb - none_kb))) "$ALL")" \
  'at rest, % of a core, without templates' "$bare_share" \
  'at rest, % of a core, with them' "$many_share"
