# Shared by the scripts with several servers, beside lib.sh: each has its ports, a configuration and a log by its name.
# Sourced with JOIN set to the names of those that others join.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
declare -A HTTP RPC SERF PID

# take_serf NAME…: gossip ports, before any configuration names them.
take_serf() { local server; for server in "$@"; do SERF[$server]=$(free_port); done; }
# server_config NAME BOOTSTRAP_EXPECT [SERVER OPTIONS]: with further blocks from standard input.
server_config() {
  local server addresses=()
  for server in $JOIN; do addresses+=("\"127.0.0.1:${SERF[$server]}\""); done
  HTTP[$1]=$(free_port) RPC[$1]=$(free_port)
  cat > "$WORK/$1.hcl" << CONFIG
name      = "$1"
data_dir  = "$WORK/$1-data"
bind_addr = "127.0.0.1"
ports {
  http = ${HTTP[$1]}
  rpc  = ${RPC[$1]}
  serf = ${SERF[$1]}
}
server {
  enabled          = true
  bootstrap_expect = $2
  ${3:-}
  server_join {
    retry_join     = [$(IFS=,; echo "${addresses[*]}")]
    retry_interval = "300ms"
  }
}
CONFIG
  cat >> "$WORK/$1.hcl"
}
run_server() {
  "$DROVER" agent -config "$WORK/$1.hcl" >> "$WORK/$1.log" 2>&1 &
  PID[$1]=$!
  AGENTS+=("$!")
  disown "$!"
}
# on SERVER COMMAND…: drover, asking that server.
on() { local server=$1; shift; NOMAD_ADDR=http://127.0.0.1:${HTTP[$server]} "$DROVER" "$@"; }
# The name of the server that leads, as SERVER says.
leader() { on "$1" server members | awk '$5 == "true" { sub(/\..*/, "", $1); print $1 }'; }
# leads SERVER [FORMER]: it knows a leader, and another one than FORMER. LEADER is its name.
leads() { LEADER=$(leader "$1") && [ -n "$LEADER" ] && [ "$LEADER" != "${2:-}" ]; }
