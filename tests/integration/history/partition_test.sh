#!/usr/bin/env bash
# Three servers in network namespaces of their own, the clients in a fourth from which they reach every server all the
# time; the lines between the servers are cut, both ways and one way, around the leader and around a follower. The
# simulator's checker judges what the clients saw. A server that is alone answers no read that must be right, and takes no
# write; at the end all have the same state. DROVER_PARTITIONS says how often (2).
JOIN="one two three"
. "$(dirname "$0")/../servers.sh"
. "$(dirname "$0")/load.sh"

[ "$(id -u)" = 0 ] || { echo "skipped: network namespaces need root"; exit 77; }
for program in ip nft; do
  command -v $program > /dev/null || { echo "skipped: the program $program is missing (Debian's iproute2, nftables)"; exit 77; }
done
ip netns add "drover-$$-try" 2> /dev/null || { echo "skipped: this machine makes no network namespaces"; exit 77; }
ip netns del "drover-$$-try"

PARTITIONS=${DROVER_PARTITIONS:-2}
NEEDED=6  # whoever draws the server that is alone waits five seconds for its refusal
HUB=drover-$$-hub
declare -A ADDRESS=([one]=10.77.0.1 [two]=10.77.0.2 [three]=10.77.0.3)
net() { echo "drover-$$-$1"; }
in_net() { local server=$1; shift; ip netns exec "$(net "$server")" "$@"; }

remove_networks() {
  clean_up
  local server
  for server in "${SERVERS[@]}" hub; do ip netns del "$(net "$server")" 2> /dev/null; done
}
trap remove_networks EXIT

ip netns add "$HUB" || fail "no network namespace"
ip -n "$HUB" link add switch type bridge || fail "no bridge"
ip -n "$HUB" addr add 10.77.0.254/24 dev switch
ip -n "$HUB" link set switch up
ip -n "$HUB" link set lo up
for server in "${SERVERS[@]}"; do
  ip netns add "$(net "$server")"
  ip -n "$HUB" link add "to-$server" type veth peer name eth0 netns "$(net "$server")" || fail "no line to $server"
  ip -n "$HUB" link set "to-$server" master switch up
  in_net "$server" ip addr add "${ADDRESS[$server]}/24" dev eth0
  in_net "$server" ip link set eth0 up
  in_net "$server" ip link set lo up
  in_net "$server" nft add table inet cut
  in_net "$server" nft add chain inet cut arriving '{ type filter hook input priority 0; }'
done

# Each has the usual ports at an address of its own.
for server in "${SERVERS[@]}"; do
  cat > "$WORK/$server.hcl" << CONFIG
name      = "$server"
data_dir  = "$WORK/$server-data"
bind_addr = "${ADDRESS[$server]}"
log_level = "WARN"
server {
  enabled          = true
  bootstrap_expect = 3
  server_join {
    retry_join     = ["${ADDRESS[one]}", "${ADDRESS[two]}", "${ADDRESS[three]}"]
    retry_interval = "300ms"
  }
}
autopilot {
  cleanup_dead_servers = false
}
CONFIG
  in_net "$server" "$DROVER" agent -config "$WORK/$server.hcl" >> "$WORK/$server.log" 2>&1 &
  PID[$server]=$!
  AGENTS+=("$!")
  disown "$!"
done
on() { local server=$1; shift; NOMAD_ADDR=http://${ADDRESS[$server]}:4646 ip netns exec "$HUB" "$DROVER" "$@"; }
api_addresses() { local server; for server in "${SERVERS[@]}"; do echo "http://${ADDRESS[$server]}:4646"; done; }
CLIENT_IN=(ip netns exec "$HUB")

# cut FROM TO: nothing of FROM arrives at TO.
cut() { in_net "$2" nft add rule inet cut arriving ip saddr "${ADDRESS[$1]}" drop; }
cut_both() { cut "$1" "$2"; cut "$2" "$1"; }
heal() { local server; for server in "${SERVERS[@]}"; do in_net "$server" nft flush chain inet cut arriving; done; }
others_of() { local server; for server in "${SERVERS[@]}"; do [ "$server" = "$1" ] || echo "$server"; done; }
knows_no_leader() { on "$1" operator api /v1/status/leader 2>&1 | grep -q 'No cluster leader'; }

eventually 30 "no leader" find_leader
for ((partition = 1; partition <= PARTITIONS; partition++)); do
  begin_history "p$partition"
  eventually 30 "no leader" find_leader
  former=$LEADER
  mapfile -t followers < <(others_of "$former")
  since_here
  case $((partition % 6)) in
    1) # The leader is alone. The clients still reach it.
      for server in "${followers[@]}"; do cut_both "$former" "$server"; done
      eventually 30 "nobody leads without $former" find_leader "$former"
      eventually 30 "no writes without $former" writes_again
      eventually 10 "$former does not notice that it is alone" knows_no_leader "$former"
      expect 1 "No cluster leader" on "$former" operator api "/v1/job/p$partition-0"
      expect 0 "p$partition-0" on "$former" operator api "/v1/job/p$partition-0?stale"
      ;;
    2) # A follower is alone: nothing happens to the others, and it does not disturb them when it is back.
      for server in "$former" "${followers[1]}"; do cut_both "${followers[0]}" "$server"; done
      eventually 30 "no writes without ${followers[0]}" writes_again
      eventually 10 "${followers[0]} does not notice that it is alone" knows_no_leader "${followers[0]}"
      expect 1 "No cluster leader" on "${followers[0]}" operator api "/v1/job/p$partition-0"
      eventually 10 "$former leads no more" find_leader
      [ "$LEADER" = "$former" ] || fail "leadership went from $former to $LEADER although a quorum could hear it"
      ;;
    3) # The leader is not heard, and hears.
      for server in "${followers[@]}"; do cut "$former" "$server"; done
      eventually 30 "nobody leads although $former is not heard" find_leader "$former"
      eventually 30 "no writes although $former is not heard" writes_again
      ;;
    4) # The leader is heard, and does not hear.
      for server in "${followers[@]}"; do cut "$server" "$former"; done
      eventually 30 "nobody leads although $former hears nobody" find_leader "$former"
      eventually 30 "no writes although $former hears nobody" writes_again
      ;;
    5) # A follower is not heard, and hears.
      for server in "$former" "${followers[1]}"; do cut "${followers[0]}" "$server"; done
      eventually 30 "no writes although ${followers[0]} is not heard" writes_again
      ;;
    0) # The leader and one follower do not see each other; the third sees both.
      cut_both "$former" "${followers[0]}"
      eventually 30 "no writes although one sees both" writes_again
      ;;
  esac
  since_here
  heal
  eventually 30 "no writes after the line is whole again" writes_again
  for server in "${SERVERS[@]}"; do eventually 30 "$server does not come back" serves "$server"; done
  judge_history
done
eventually 30 "the servers differ" all_equal
still_run
echo "$PARTITIONS partitions, $WRITES writes acknowledged"
passed
