#!/usr/bin/env bash
# An engine of its own for tests: Docker's or Podman's, with its socket, data, bridge and an image "bb:t" below one folder.
#
#   engine.sh start docker|podman FOLDER [OPTION…]   exit code 77, with the reason, where none can run; dockerd's options
#   engine.sh restart FOLDER                         starts dockerd again as it was, after it has died
#   engine.sh stop FOLDER                            ends it, and takes away everything it made on this machine
#
# FOLDER/socket is where it listens. The image is busybox with a shell; it runs until it is told to end.
set -uo pipefail

skip() { echo "no engine: $*"; exit 77; }
waits() { # SECONDS COMMAND…
  local until=$((SECONDS + $1 * ${DROVER_TEST_PATIENCE:-1}))
  shift
  until "$@" > /dev/null 2>&1; do
    [ $SECONDS -lt $until ] || return 1
    sleep 0.05
  done
}

# A folder with a whole system of one program.
make_root() {
  local busybox applet
  busybox=$(command -v busybox) || skip "busybox is not installed (package busybox-static)"
  case $(ldd "$busybox" 2>&1) in *"not a dynamic"*) ;; *) skip "busybox is not a static one (package busybox-static)" ;; esac
  mkdir -p "$1"/{bin,proc,sys,dev,tmp,etc,root}
  cp "$busybox" "$1/bin/busybox"
  for applet in $("$busybox" --list); do [ "$applet" = busybox ] || ln -s busybox "$1/bin/$applet"; done
  printf 'root:x:0:0::/root:/bin/sh\nnobody:x:65534:65534::/:/bin/false\nimagined:x:4321:4321::/:/bin/sh\n' > "$1/etc/passwd"
  printf 'root:x:0:\nnogroup:x:65534:\n' > "$1/etc/group"
  chmod 1777 "$1/tmp"
  tar -C "$1" -cf "$2" .
}
RUN='CMD ["/bin/sh", "-c", "trap \"exit 0\" TERM INT; while :; do sleep 1 & wait $!; done"]'

# An engine that serves, on a machine that lets it run nothing, is none.
runs_one() { # COMMAND…
  "$@" run --rm --memory 64m --cpu-shares 64 bb:t /bin/true > "$DIR/reason" 2>&1 || skip "no container runs: $(tail -n 3 "$DIR/reason")"
}

run_docker() {
  local options
  mapfile -t options < <(grep . "$DIR/options")
  dockerd --data-root "$DIR/root" --exec-root "$DIR/exec" -H "unix://$DIR/socket" --pidfile "$DIR/pid" \
    --bridge "$(cat "$DIR/bridge")" --iptables=false --ip-forward=false --ip-masq=false --shutdown-timeout 2 "${options[@]}" \
    >> "$DIR/log" 2>&1 < /dev/null &
  waits 30 docker -H "unix://$DIR/socket" version
}
# The pid files of one that was killed, and of its containerd, which dies with it, stand in the way of the next.
restart() {
  local pid
  pid=$(cat "$DIR/pid")
  waits 20 test ! -e "/proc/$pid/exe"
  rm -f "$DIR/pid" "$DIR/exec/containerd/containerd.pid"
  run_docker
}
start_docker() {
  command -v dockerd > /dev/null || skip "dockerd is not installed (package docker.io)"
  command -v ip > /dev/null || skip "ip is not installed (package iproute2)"
  local bridge=drv$$
  # A bridge of its own, and no rule in the machine's packet filter: ports are served by the engine's own proxy.
  ip link add "$bridge" type bridge 2> "$DIR/reason" || skip "a bridge cannot be made: $(cat "$DIR/reason")"
  echo "$bridge" > "$DIR/bridge"
  ip addr add "10.$((200 + $$ % 50)).$(($$ / 50 % 250)).1/24" dev "$bridge" && ip link set "$bridge" up
  printf '%s\n' "$@" > "$DIR/options"
  run_docker || skip "dockerd does not start: $(tail -n 3 "$DIR/log")"
  docker -H "unix://$DIR/socket" import -c "$RUN" "$DIR/root.tar" bb:t > /dev/null || skip "docker takes no image"
  runs_one docker -H "unix://$DIR/socket"
}

podman_() { CONTAINERS_CONF=$DIR/containers.conf podman --root "$DIR/root" --runroot "$DIR/exec" "$@"; }
start_podman() {
  command -v podman > /dev/null || skip "podman is not installed"
  # Machines without the right to raise limits: what is asked for must be what there is.
  printf '[containers]\ndefault_ulimits = ["nofile=4096:4096", "nproc=4096:4096"]\n' > "$DIR/containers.conf"
  podman_ import -c "$RUN" "$DIR/root.tar" bb:t > "$DIR/log" 2>&1 || skip "podman takes no image: $(tail -n 3 "$DIR/log")"
  CONTAINERS_CONF=$DIR/containers.conf podman --root "$DIR/root" --runroot "$DIR/exec" system service --time=0 \
    "unix://$DIR/socket" > "$DIR/log" 2>&1 < /dev/null &
  echo $! > "$DIR/pid"
  waits 30 podman --url "unix://$DIR/socket" version || skip "podman does not serve: $(tail -n 3 "$DIR/log")"
  runs_one podman_
}

stop() {
  local pid mount
  pid=$(cat "$DIR/pid" 2> /dev/null)
  if [ -f "$DIR/containers.conf" ]; then podman_ rm -af -t 0 > /dev/null 2>&1; fi
  if grep -q live-restore "$DIR/options" 2> /dev/null; then
    docker -H "unix://$DIR/socket" ps -a -q | xargs -r docker -H "unix://$DIR/socket" rm -f > /dev/null 2>&1
  fi
  if [ -n "$pid" ]; then
    kill "$pid" 2> /dev/null
    waits 20 test ! -e "/proc/$pid/exe" || kill -9 "$pid" 2> /dev/null
  fi
  for pid in $(ls /proc | grep '^[0-9]*$'); do
    if { tr "\\0" " " < "/proc/$pid/cmdline"; } 2> /dev/null | grep -q "$DIR/exec"; then kill -9 "$pid" 2> /dev/null; fi
  done
  awk -v dir="$DIR/" 'index($5, dir) == 1 { print $5 }' /proc/self/mountinfo | sort -r | while read -r mount; do
    umount -l "$mount" 2> /dev/null
  done
  if [ -f "$DIR/bridge" ]; then ip link del "$(cat "$DIR/bridge")" 2> /dev/null; fi
  rm -rf "$DIR" 2> /dev/null
  [ ! -e "$DIR" ]
}

case ${1:-} in
  start)
    DIR=$3
    mkdir -p "$DIR"
    [ "$(id -u)" = 0 ] || skip "needs root"
    make_root "$DIR/image" "$DIR/root.tar"
    "start_$2" "${@:4}"
    ;;
  restart)
    DIR=$2
    restart
    ;;
  stop)
    DIR=$2
    stop
    ;;
  *)
    sed -n '2,8s/^# \{0,1\}//p' "$0" >&2
    exit 2
    ;;
esac
