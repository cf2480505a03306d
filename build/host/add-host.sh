#!/bin/sh
# Sets up this computer as a host of Berth: fetches the agent with its own Node and toolbox from the manager, installs it below /opt/berth,
# and lets it join. The manager sends this file with the variables of one join string above it (manager/agents/host-line.ts):
#   url pin token join replaces version machine sha256
# A copy without them stays beside the program: /opt/berth/current/add-host.sh --uninstall. The agent runs it too, for an update: --switch.
#
# Threat model: runs as root. The program comes from the manager only, over TLS with the key that the line pins (or http on this computer), and its
# SHA-256 is checked before any of it runs. Files lie in folders where only root writes. Token and join string are never arguments of a
# program, because every user of a computer can list those; they open one join within fifteen minutes.
set -eu
umask 022
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin

ROOT=/opt/berth
SETTINGS=/etc/berth/agent.env
UNIT=/etc/systemd/system/berth-agent.service
# Outcome of the last update, which the agent reports: "done NAME" or "failed NAME", then lines with the reason.
OUTCOME="$ROOT/update-outcome"
JOINED_WITHIN_S=60
SWITCHED_WITHIN_S=120

USAGE='Flags, after "sh -s --":
  --foreground         no service: run the agent in this terminal until Ctrl-C
  --no-docker-install  install no packages of the distribution; Docker Engine and iptables come by another way
  --uninstall          remove the agent and its program; data, Docker and images stay
  --leave [--images]   remove all of Berth: agent, program, state, networks, volumes, firewall and, if you say so, images.
                       Sessions must have ended; folders of users and Docker stay
  --switch=NAME        used by the agent: make an update below /opt/berth the program in use, or go back'

say() { printf 'berth: %s\n' "$*" >&2; }
fail() {
  reason=$*
  say "$*"
  exit 1
}

main() {
  foreground=
  may_install=yes
  action=install
  with_images=engine
  for flag in "$@"; do
    case $flag in
      --foreground) foreground=yes ;;
      --no-docker-install) may_install= ;;
      --uninstall) action=uninstall ;;
      --leave) action=leave ;;
      --images) with_images=images ;;
      --switch=*)
        action=switch
        name=${flag#--switch=}
        ;;
      *) fail "There is no flag $flag. $USAGE" ;;
    esac
  done
  [ "$(id -u)" = 0 ] || fail 'The agent needs root: run the line as root, or as a user with sudo.'
  read_settings
  if [ "$action" = uninstall ]; then
    uninstall
    return
  fi
  if [ "$action" = leave ]; then
    leave
    return
  fi
  if [ "$action" = switch ]; then
    switch_program "$name"
    return
  fi
  [ -n "${join:-}" ] || fail "This copy has no join string. Run the line of the console (Agents, Add a host). $USAGE"
  check_computer
  trap undo EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM HUP
  install_packages
  fetch_program
  use_program
  make_toolbox
  if [ -n "$foreground" ]; then run_here; else run_service; fi
}

# Data directory and Docker Engine: what the caller names, else what the settings of the service name. Script and service use the same ones.
read_settings() {
  BERTH_DATA=${BERTH_DATA:-$(setting BERTH_DATA)}
  DATA=${BERTH_DATA:-/var/lib/berth}
  DOCKER_HOST=${DOCKER_HOST:-$(setting DOCKER_HOST)}
  if [ -n "$DOCKER_HOST" ]; then export DOCKER_HOST; else unset DOCKER_HOST; fi
}

setting() { sed -n "s/^$1=//p" "$SETTINGS" 2>/dev/null | tail -n 1 | tr -d "'\""; }

# Refuses a computer on which this cannot work, before anything is changed.
check_computer() {
  [ "$(uname -s)" = Linux ] || fail "Hosts of Berth run Linux; this computer runs $(uname -s)."
  [ "$(uname -m)" = "$machine" ] || fail "This computer is $(uname -m), and $url has an agent for $machine only. Install the package \
berth-server for $(uname -m) here, put BERTH_JOIN with a join string into $SETTINGS, and start berth-agent."
  for program in curl tar gzip sha256sum; do
    command -v $program >/dev/null || fail "The program $program is missing: install the package of this distribution that has it."
  done
  [ ! -e "$ROOT/package.json" ] || fail "$ROOT is a clone of Berth. Start its agent (docs/admin/agents.md), or move the clone away."
  # Whoever else writes there would decide what root runs. A link has a mode without meaning.
  others=$(find -H "$ROOT" -maxdepth 1 \( ! -user root -o ! -type l -perm /022 \) 2>/dev/null | head -n 1)
  [ -z "$others" ] || fail "$others belongs to another user than root, or others may write to it. Move $ROOT away, or make it root's alone: \
chown -R root:root $ROOT; chmod -R go-w $ROOT"
  case $DATA in /*) ;; *) fail "BERTH_DATA is $DATA, and must be an absolute path." ;; esac
  [ ! -e /usr/lib/systemd/system/berth-agent.service ] || fail "The package berth-server is installed here and has an agent: put BERTH_JOIN \
with a join string into $SETTINGS, and start berth-agent; or remove the package."
  [ ! -e "$UNIT" ] || is_ours || fail "$UNIT was not made by this script. Move it away, or keep the agent that it starts."
  if [ -z "$foreground" ]; then
    [ -d /run/systemd/system ] || fail 'This computer does not run systemd. Run the agent in a terminal instead: end the line with "sh -s -- --foreground".'
    ! systemctl is-active --quiet berth || fail 'This computer runs all of Berth (berth.service), which has an agent already.'
  fi
}

# Whether the service is the one that this script installs, and not one by hand or by a package.
is_ours() { grep -q "^ExecStart=$ROOT/current/" "$UNIT" 2>/dev/null; }

# Docker Engine and iptables, from the distribution.
install_packages() {
  missing=
  has_docker || missing=docker.io
  command -v iptables >/dev/null || missing="$missing iptables"
  [ -n "$missing" ] || return 0
  if [ -z "$may_install" ]; then
    say "Not installed, as you wished: ${missing# }. The agent waits for Docker, and needs iptables for the firewall of sessions."
    return
  fi
  command -v apt-get >/dev/null || fail "This computer lacks ${missing# }, and has no apt-get to install it. Install it, then run the line again."
  say "Installing ${missing# } from the packages of this distribution."
  # Nothing here may read the standard input: it is this script. A list of another source that fails need not matter.
  DEBIAN_FRONTEND=noninteractive apt-get update -q </dev/null >&2 || say 'Some lists of packages could not be fetched.'
  # shellcheck disable=SC2086
  DEBIAN_FRONTEND=noninteractive apt-get install -y -q $missing </dev/null >&2
}

has_docker() { [ -n "${DOCKER_HOST:-}" ] || [ -S /var/run/docker.sock ] || command -v dockerd >/dev/null; }

# Fetches the program into a folder of its own, unless it is there; nothing runs before its checksum is right.
fetch_program() {
  program="$ROOT/$version-$(printf %.12s "$sha256")"
  if [ -e "$program/add-host.sh" ]; then
    say "Berth $version is here already."
    return
  fi
  say "Fetching Berth $version from $url."
  mkdir -p "$ROOT"
  work=$(mktemp -d "$ROOT/.new-XXXXXX")
  get "/api/v1/host-setup/bundles/$sha256" "$work/bundle" || fail 'The program could not be fetched. Try again; a line is valid for fifteen minutes.'
  echo "$sha256  $work/bundle" | sha256sum --check --status || fail 'What arrived is not what the manager announced. Nothing was installed; try again.'
  mkdir "$work/program"
  tar -xzf "$work/bundle" -C "$work/program" --strip-components=1 --no-same-owner
  "$work/program/berth" --version >/dev/null </dev/null || fail "Berth's Node does not run here. It needs glibc 2.28 and libstdc++ 6 or newer."
  mv "$work/program" "$program"
  fetched=$program
  rm -rf "$work"
  work=
}

# get PATH FILE: downloads from the manager, and gives up if less than 1 kB a second arrives for a minute. The token goes in by the standard
# input.
get() {
  {
    printf 'header = "Authorization: Bearer %s"\n' "$token"
    # The line pins the key, so the certificate needs no authority.
    [ -z "$pin" ] || printf 'insecure\npinnedpubkey = "%s"\n' "$pin"
  } | curl --config - --silent --show-error --fail --retry 3 --speed-limit 1000 --speed-time 60 --proto '=http,https' --output "$2" "$url$1"
}

# Makes the fetched version the one in use, at one stroke.
use_program() {
  previous=$(readlink "$ROOT/current" || true)
  ln -s "$program" "$ROOT/.current-$$"
  mv -T "$ROOT/.current-$$" "$ROOT/current"
  switched=yes
}

# A manager without a Docker Engine has no toolbox to send: then it is made here, from the packages of the distribution.
make_toolbox() {
  [ ! -e "$program/toolbox.tar" ] || return 0
  if ! has_docker; then
    say "The manager has no toolbox image. Once Docker is here, make it: $ROOT/current/berth admin image build toolbox"
    return
  fi
  say 'The manager has no toolbox image. Making it here, which takes some minutes the first time.'
  BERTH_DATA=$DATA "$program/berth" admin image build toolbox </dev/null >&2 ||
    say "The toolbox was not made. No session starts here until \"$ROOT/current/berth admin image build toolbox\" has made it."
}

run_here() {
  mkdir -p -m 0711 "$DATA"
  set -a
  BERTH_DATA=$DATA
  BERTH_JOIN=$join
  [ -z "$replaces" ] || BERTH_AGENT_REPLACE=1
  # shellcheck disable=SC1091
  . "$ROOT/current/host.env"
  set +a
  say 'The agent runs in this terminal. Ctrl-C stops it; sessions keep running.'
  trap - EXIT INT TERM HUP
  exec "$ROOT/current/berth" agent </dev/null
}

run_service() {
  mkdir -p -m 0700 /etc/berth
  keep_service
  cp "$program/berth-agent.service" "$UNIT"
  write_settings with
  since=$(date +%s)
  systemctl daemon-reload
  systemctl enable --quiet berth-agent
  restart_agent
  say 'The agent is starting.'
  wait_until_joined "$JOINED_WITHIN_S"
  write_settings without
  trap - EXIT
  remove_old_programs
  say "This computer is a host of Berth now, as the service berth-agent (log: journalctl -u berth-agent)."
}

# Remembers the service as it is, for `undo`.
keep_service() {
  if [ -e "$UNIT" ]; then
    old_unit=$(cat "$UNIT")
    case $(systemctl is-active berth-agent || true) in inactive | failed) ;; *) was_running=yes ;; esac
    ! systemctl is-enabled --quiet berth-agent || was_enabled=yes
  fi
  [ ! -e "$SETTINGS" ] || old_settings=$(cat "$SETTINGS")
  started=yes
}

# switch_program NAME: an update. Makes a program that the agent has fetched and checked the one in use, and goes back if its agent does not
# join. Runs as a unit of its own, because the agent ends meanwhile; sessions keep running.
switch_program() {
  case $1 in '' | .* | *[!0-9A-Za-z.+-]*) fail "\"$1\" is not the name of a program." ;; esac
  program="$ROOT/$1"
  [ -e "$program/add-host.sh" ] || fail "There is no program $program."
  is_ours || fail "The service berth-agent was not made by this script."
  switching=$1
  fetched=$program
  trap undo EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM HUP
  make_toolbox
  keep_service
  use_program
  cp "$program/berth-agent.service" "$UNIT"
  since=$(date +%s)
  systemctl daemon-reload
  restart_agent
  wait_until_joined "$SWITCHED_WITHIN_S"
  trap - EXIT
  write_outcome done
  remove_old_programs
  say "The agent runs $1 now."
}

# write_outcome done|failed [REASON]
write_outcome() {
  printf '%s %s\n%s\n' "$1" "$switching" "${2:-}" >"$OUTCOME.new"
  mv "$OUTCOME.new" "$OUTCOME"
}

# write_settings with|without: the join string, beside data directory and engine, if they are not the usual ones, and what an administrator has
# written.
write_settings() {
  {
    [ -z "$BERTH_DATA" ] || printf 'BERTH_DATA=%s\n' "$BERTH_DATA"
    [ -z "${DOCKER_HOST:-}" ] || printf 'DOCKER_HOST=%s\n' "$DOCKER_HOST"
    [ ! -e "$SETTINGS" ] || grep -v -E '^(BERTH_DATA|DOCKER_HOST|BERTH_JOIN|BERTH_AGENT_REPLACE)=' "$SETTINGS" || true
    if [ "$1" = with ]; then
      printf 'BERTH_JOIN=%s\n' "$join"
      [ -z "$replaces" ] || printf 'BERTH_AGENT_REPLACE=1\n'
    fi
  } | replace_settings
}

# Settings from the standard input, for root only.
replace_settings() {
  umask 077
  cat >"$SETTINGS.new"
  umask 022
  mv "$SETTINGS.new" "$SETTINGS"
}

# systemd refuses to start a unit that it cannot read, or in which a command of the administrator fails before the agent starts.
restart_agent() {
  ! systemctl restart berth-agent || return 0
  read_log
  fail_if_ended
  fail "systemd did not start the agent: $(printf '%s\n' "$log" | tail -n 1) (journalctl -u berth-agent)"
}

# What the agent has said since `since`.
read_log() { log=$(journalctl --unit berth-agent --since "@$since" --output cat --no-pager </dev/null || true); }

# Fails with the reason for which the agent has given up, if it has.
fail_if_ended() {
  problem=$(printf '%s\n' "$log" | sed -n 's/^berth: //p' | tail -n 1)
  [ -z "$problem" ] || fail "The agent ended: $problem"
}

# wait_until_joined SECONDS: the agent prints a line when a manager has accepted it, and its reason when it gives up.
wait_until_joined() {
  left=$1
  while [ "$left" -gt 0 ]; do
    read_log
    case $log in *'"ready":"agent"'*) return 0 ;; esac
    fail_if_ended
    sleep 1
    left=$((left - 1))
  done
  printf '%s\n' "$log" | tail -n 5 >&2
  fail "The agent has not joined within $1 seconds; its log says more (journalctl -u berth-agent). Does this computer reach ${url:-the manager}?"
}

# Versions besides the one in use and the one before; a session needs none of their files.
remove_old_programs() {
  for folder in "$ROOT"/[0-9]*-*; do
    [ "$folder" = "$program" ] || [ "$folder" = "$previous" ] || rm -rf "$folder"
  done
}

# Puts back what was there before a failure. Packages of the distribution stay.
undo() {
  status=$?
  trap - EXIT INT TERM HUP
  [ "$status" != 0 ] || return 0
  [ -z "${work:-}" ] || rm -rf "$work"
  rm -f "$ROOT/.current-$$" "$SETTINGS.new"
  if [ -n "${switched:-}" ]; then
    if [ -n "$previous" ]; then ln -sfn "$previous" "$ROOT/current"; else rm -f "$ROOT/current"; fi
  fi
  # Written before the agent starts again: it reports the outcome.
  [ -z "${switching:-}" ] || write_outcome failed "${reason:-The update was interrupted.}"
  if [ -n "${started:-}" ]; then
    if [ -n "${old_settings+x}" ]; then printf '%s\n' "$old_settings" | replace_settings; else rm -f "$SETTINGS"; fi
    if [ -n "${old_unit:-}" ]; then
      printf '%s\n' "$old_unit" >"$UNIT"
      systemctl daemon-reload
      [ -n "${was_enabled:-}" ] || systemctl disable --quiet berth-agent || true
      if [ -n "${was_running:-}" ]; then systemctl restart berth-agent || true; else systemctl stop berth-agent || true; fi
    else
      systemctl disable --quiet --now berth-agent || true
      rm -f "$UNIT"
      systemctl daemon-reload
    fi
  fi
  [ -z "${fetched:-}" ] || rm -rf "$fetched"
  rmdir "$ROOT" /etc/berth 2>/dev/null || true
  say 'What this script had changed was undone; packages of the distribution stay.'
  exit "$status"
}

uninstall() {
  # A package or a service by hand has its settings at the same place.
  if is_ours; then
    if [ -d /run/systemd/system ]; then systemctl disable --quiet --now berth-agent || true; fi
    rm -f "$UNIT" "$SETTINGS"
    if [ -d /run/systemd/system ]; then systemctl daemon-reload; fi
  fi
  rm -f "$ROOT/current" "$OUTCOME"
  # Also what a script or an agent was fetching when it was ended.
  rm -rf "$ROOT"/[0-9]*-* "$ROOT"/.new-* "$ROOT"/.update-*
  rmdir "$ROOT" /etc/berth 2>/dev/null || true
  if [ "$action" = leave ]; then
    say 'Berth was removed from this computer. Docker and folders of users stay.'
    return
  fi
  say "The agent was removed. Sessions, Docker with its images, and $DATA stay: never remove that folder while sessions run here. The manager \
forgets this host by: berth admin agent forget $(uname -n)"
}

# Removes all of Berth from this computer. Nothing is lost if it ends half way: it can be run again.
leave() {
  # The agent that has started this still answers its manager.
  sleep 2
  is_ours || [ ! -e "$UNIT" ] || fail "The service berth-agent was not made by this script: remove it as it was installed."
  [ ! -d /run/systemd/system ] || [ ! -e "$UNIT" ] || systemctl disable --quiet --now berth-agent || true
  left=
  if [ -e "$ROOT/current/berth" ]; then
    read_variables "$ROOT/current/host.env"
    read_variables "$SETTINGS"
    BERTH_DATA=$DATA BERTH_AGENT_LEAVE=$with_images "$ROOT/current/berth" agent </dev/null >&2 || left=engine
  fi
  [ -z "$left" ] || fail 'Something of Berth stays on the Docker Engine; above is what, and why. Run this again once that is solved, or start the agent again: systemctl enable --now berth-agent'
  remove_state
  uninstall
}

# Variables of a file as systemd reads it, not as a shell would: nothing in it is run, and quotes around a value are not part of it.
read_variables() {
  [ -e "$1" ] || return 0
  while IFS= read -r line; do
    case $line in BERTH_*=* | DOCKER_HOST=*) ;; *) continue ;; esac
    value=${line#*=}
    case $value in
      \"*\") value=${value#\"} value=${value%\"} ;;
      \'*\') value=${value#\'} value=${value%\'} ;;
    esac
    export "${line%%=*}=$value"
  done <"$1"
}

# The state of the agent with the homes of ended sessions, but nothing that is mounted there: folders of users could be, and "rm" would enter
# those of the same file system. In any doubt nothing is removed.
remove_state() {
  [ -e "$DATA/agent" ] || [ -L "$DATA/agent" ] || return 0
  case $DATA in /*) ;; *) fail "BERTH_DATA is $DATA, and must be an absolute path." ;; esac
  [ ! -L "$DATA/agent" ] || fail "$DATA/agent is a link. Remove it by hand, and what it leads to if that is of Berth only; then run this again."
  state=$(readlink -f "$DATA/agent") || fail "The path $DATA/agent cannot be followed."
  # The table of mounts has these characters as numbers.
  case $state in *[[:cntrl:]]*) fail "The path of $DATA/agent has control characters. Remove it by hand, then run this again." ;; esac
  written=$(printf '%s\n' "$state" | sed 's/\\/\\134/g; s/ /\\040/g')
  mounts=$(cat /proc/self/mounts || true)
  [ -n "$mounts" ] || fail "/proc/self/mounts cannot be read: folders of users may be mounted below $state. Run this again once it can."
  while read -r _ at _; do
    case $at in "$written"/*) fail "$at is mounted: folders of users may be there. Unmount it (umount), then run this again." ;; esac
  done <<END
$mounts
END
  rm -rf --one-file-system "$state" || say "Not all of $state was removed."
  rmdir "$DATA" 2>/dev/null || true
}

# All is read before anything runs: a download that breaks off does nothing.
main "$@"
