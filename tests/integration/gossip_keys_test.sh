#!/usr/bin/env bash
# The key of the gossip is changed while three servers run; one of them dies and comes back; wrong keys stay out.
JOIN="one two"
. "$(dirname "$0")/servers.sh"
PAGE=$(realpath "$(dirname "$0")/../../docs/operator/cluster.md")

SERVERS=(one two three)
KEY=$(head -c 32 /dev/urandom | base64)
take_serf "${SERVERS[@]}" four plain
configure() { # SERVER BOOTSTRAP_EXPECT [KEY]
  server_config "$1" "$2" "encrypt = \"${3:-$KEY}\"" < /dev/null
}
keyring() { local server=$1; shift; on "$server" operator gossip keyring "$@"; }
key_file() { echo "$WORK/$1-data/server/serf.keyring"; }
# counts SERVER KEY SERVERS PRIMARY: the list has this line.
counts() { keyring "$1" list 2>&1 | grep -qx "$2 *$3 *$4 *"; }
status_of() { on "$1" server members | awk -v name="$2.global" '$1 == name { print $4 }' | grep -qx "$3"; }
all_alive() { local server; for server in "${SERVERS[@]}"; do status_of "$1" "$server" alive || return 1; done; }
together() { local server; for server in "${SERVERS[@]}"; do all_alive "$server" || return 1; done; }

# --- three servers with one key --------------------------------------------------------------------------------------
for server in "${SERVERS[@]}"; do configure "$server" 3; done
for server in "${SERVERS[@]}"; do run_server "$server"; done
for server in "${SERVERS[@]}"; do eventually 30 "$server knows no leader" leads "$server"; done
eventually 20 "they do not see each other" together
for server in "${SERVERS[@]}"; do
  [ "$(cat "$(key_file "$server")")" = "[\"$KEY\"]" ] || fail "the file of $server is $(cat "$(key_file "$server")")"
  [ "$(stat -c %a "$(key_file "$server")")" = 600 ] || fail "others may read the keys of $server"
done
eventually 10 "not the one key on all" counts two "$KEY" 3/3 3/3

# --- what would part them is refused, and what is no key -------------------------------------------------------------
OTHER=$(keyring one generate)
[ "$(base64 -d <<< "$OTHER" | wc -c)" = 32 ] || fail "this is no key: $OTHER"
expect 1 "the key is not installed on one.global, three.global, two.global; install it first" keyring one use "$OTHER"
expect 1 "still seals with this key; use another one first" keyring one remove "$KEY"
expect 1 "no server has this key" keyring one remove "$OTHER"
expect 1 "the key is not 16, 24 or 32 bytes in base64: it has 3 bytes" keyring one install AAAA
expect 1 "these arguments: <key>" keyring one install "$KEY" "$OTHER"
expect 0 '"NumNodes": 3' on one operator api /v1/agent/keyring/list
expect 0 "\"$KEY\": 3" on one operator api -X POST /v1/agent/keyring/install "{\"Key\": \"$KEY\"}"

# --- a new key, as the page says -------------------------------------------------------------------------------------
COMMANDS=$(indented_example '$ drover operator gossip keyring generate' "$PAGE" | sed -n 's/^\$ //p')
[ "$(grep -c . <<< "$COMMANDS")" -ge 5 ] || fail "the page's commands are: $COMMANDS"
echo "$KEY" > "$WORK/old.key"
as_the_page_says() { cd "$WORK" && drover() { on two "$@"; } && set -e && eval "$COMMANDS"; }
expect 0 "Removing gossip encryption key..." as_the_page_says
NEW=$(cat "$WORK/new.key")
counts one "$NEW" 3/3 3/3 || fail "not the new key on all: $(keyring one list)"
counts one "$KEY" '[0-9]/3' '[0-9]/3' && fail "the old key is still there"
for server in "${SERVERS[@]}"; do
  [ "$(cat "$(key_file "$server")")" = "[\"$NEW\"]" ] || fail "the file of $server is $(cat "$(key_file "$server")")"
done
together || fail "they no longer see each other"

# --- a server that is away keeps its keys, which go before the configured one ------------------------------------------
kill -9 "${PID[three]}"
eventually 40 "the dead server is not noticed" status_of one three failed
expect 0 "Warning: three.global is failed; when it comes back it has the keys that it had" keyring one install "$OTHER"
counts one "$OTHER" 2/2 0/2 || fail "not on both: $(keyring one list)"
run_server three
eventually 40 "the server does not come back" together
logged three "the key of server.encrypt is none of this server's keys" || fail "three does not say that its encrypt is old"
eventually 20 "not on two of three" counts one "$OTHER" 2/3 0/3
expect 1 "the key is not installed on three.global" keyring one use "$OTHER"
expect 0 "Installing new gossip encryption key..." keyring three install "$OTHER"
expect 0 "Changing primary gossip encryption key..." keyring three use "$OTHER"
expect 0 "Removing gossip encryption key..." keyring three remove "$NEW"
counts two "$OTHER" 3/3 3/3 || fail "not the third key on all: $(keyring two list)"
together || fail "they no longer see each other after the third key"

# --- a wrong key stays out, and the right one comes in ---------------------------------------------------------------
configure four 0 "$KEY"
run_server four
cannot_read() { logged four "another encrypt key"; }
eventually 20 "the wrong key goes unnoticed" cannot_read
! on one server members | grep -q four || fail "a server with another key is a member"
kill -9 "${PID[four]}"
eventually 5 "the fourth server still runs" gone "${PID[four]}"
rm "$(key_file four)"
sed -i "s|encrypt .*|encrypt = \"$OTHER\"|" "$WORK/four.hcl"
run_server four
eventually 40 "the fourth server does not appear" status_of one four alive
eventually 20 "not the key on four servers" counts four "$OTHER" 4/4 4/4

# --- without encryption there is nothing to change ---------------------------------------------------------------------
JOIN=""
server_config plain 1 < /dev/null
run_server plain
refuses() { keyring plain list 2>&1 | grep -q "the gossip of this server is in the clear"; }
eventually 30 "a server in the clear does not say so" refuses
expect 1 "the gossip of this server is in the clear" keyring plain install "$OTHER"
[ ! -e "$(key_file plain)" ] || fail "a server in the clear has a file of keys"

for key in "$KEY" "$NEW" "$OTHER"; do
  ! grep -qF "${key%%=*}" "$WORK"/*.log || fail "a key stands in a log"
done
passed
