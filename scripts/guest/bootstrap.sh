#!/bin/sh
# Gives a guest without Python 3 one; everything else in the guest is Python's work.
# Exit codes: 0 there is a Python, 1 it could not be installed, with the step that failed.
set -eu
export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8

die() {
  printf 'berth: %s\nhint: %s\n' "$1" "$2" >&2
  exit 1
}

test ! -x /usr/bin/python3 || exit 0

# A repository on the guest's own disk needs no network.
hosts=$(cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list \
  /etc/apt/sources.list.d/*.sources 2>/dev/null |
  sed -n '/^#/d; s|.*[a-z]://\([A-Za-z0-9.-]\{1,\}\).*|\1|p' | sort -u)
if test -n "$hosts"; then
  grep -q '^[^[:space:]]*[[:space:]]00000000[[:space:]]' /proc/net/route ||
    die 'network: this guest has no default route, so Python cannot be fetched' \
      'check `address`, `gateway`, `bridge` and `vlan` of the agent'
  for host in $hosts; do
    timeout 20 getent hosts "$host" >/dev/null ||
      die "network: this guest cannot look up $host" 'check `nameserver` of the agent'
  done
fi

set -- -qq -y -o Acquire::Retries=2 -o Acquire::http::Timeout=20 -o DPkg::Lock::Timeout=120
timeout 300 apt-get "$@" update >&2 || die 'apt-get update failed' 'see the lines above'
timeout 900 apt-get "$@" --no-install-recommends install python3 >&2 ||
  die 'python3 could not be installed' 'see the lines above; a template with python3 is quicker'
