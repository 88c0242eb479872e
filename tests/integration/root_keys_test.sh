#!/usr/bin/env bash
# Root keys of three servers: rotation while variables are written, a leader that is killed, a server that comes later.
JOIN="one two three"
. "$(dirname "$0")/servers.sh"

SERVERS=(one two three)
take_serf "${SERVERS[@]}" four
for server in "${SERVERS[@]}"; do server_config "$server" 3 < /dev/null; done
for server in "${SERVERS[@]}"; do run_server "$server"; done
for server in "${SERVERS[@]}"; do eventually 30 "$server knows no leader" leads "$server"; done
has_key() { on one operator root keyring list | grep -q active; }
eventually 30 "no root key" has_key
keys_of() { find "$WORK/$1-data/server/keystore" -name '*.nks.json' -printf '%f\n' | sed 's/\.nks.*//' | sort | tr '\n' ' '; }
listed() { on "$1" operator root keyring list -verbose | awk 'NR > 1 { print $1 }' | sort | tr '\n' ' '; }
# True when the server has the material of every key that is listed.
holds_all() { # SERVER ASKED
  local key
  for key in $(listed "$2"); do [[ " $(keys_of "$1")" == *" $key "* ]] || { echo "$1 lacks $key"; return 1; }; done
}
for server in "${SERVERS[@]}"; do eventually 20 "$server lacks a key" holds_all "$server" one; done

# --- writes go on while keys change; the leader is killed in the midst of them
write_on() { # notes what was acknowledged
  local i
  for ((i = 0; ; i++)); do
    [ ! -e "$WORK/enough" ] || return 0
    for server in two three one; do
      if on "$server" var put -force -out=none "load/$i" "v=$i" > /dev/null 2>&1; then echo "$i" >> "$WORK/acknowledged"; break; fi
    done
  done
}
write_on &
WRITER=$!
written() { [ "$(wc -l < "$WORK/acknowledged" 2> /dev/null || echo 0)" -ge "$1" ]; }
eventually 30 "nothing is written" written 5
expect 0 "active" on one operator root keyring rotate -full
leads one
FORMER=$LEADER
for server in "${SERVERS[@]}"; do [ "$server" = "$FORMER" ] || OTHER=$server; done
kill -9 "${PID[$FORMER]}"
eventually 30 "nobody leads after the leader" leads "$OTHER" "$FORMER"
rotated() { on "$OTHER" operator root keyring rotate -full; }
eventually 30 "no rotation without the former leader" rotated
COUNT=$(wc -l < "$WORK/acknowledged")
eventually 30 "nothing is written any more" written $((COUNT + 5))
touch "$WORK/enough"
wait "$WRITER"
is_over() { ! on "$OTHER" operator root keyring list | grep -q rekeying; }
eventually 60 "keys are still being emptied" is_over

# --- nothing that was acknowledged is lost
while read -r i; do
  CHECKS=$((CHECKS + 1))
  [ "$(on "$OTHER" var get -item=v "load/$i")" = "$i" ] || fail "load/$i is lost"
done < "$WORK/acknowledged"

# --- the killed one comes back and fetches the new key; a fresh server fetches all of them
run_server "$FORMER"
eventually 30 "the former leader knows no leader" leads "$FORMER"
eventually 30 "the former leader lacks a key" holds_all "$FORMER" "$OTHER"
server_config four 0 < /dev/null
run_server four
eventually 30 "the fourth knows no leader" leads four
eventually 30 "the fourth lacks a key" holds_all four "$OTHER"

# --- a removed key's file goes from every server
old=$(on "$OTHER" operator root keyring list -verbose | awk '$2 == "inactive" { print $1; exit }')
expect 0 "Removed encryption key $old" on four operator root keyring remove "$old"
is_gone() { [ ! -e "$WORK/$1-data/server/keystore/$old.nks.json" ]; }
for server in "${SERVERS[@]}" four; do eventually 20 "$server still has the file" is_gone "$server"; done
passed
