#!/bin/sh
# Makes a Proxmox container template: a compressed tar of a small Debian, as root.
# Usage: template.sh SUITE MIRROR PACKAGES OUTPUT.tar.zst OFFLINE-PACKAGE...
set -eu

suite=$1 mirror=$2 packages=$3 output=$4
shift 4
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)

# Manuals and translations are a third of the files, and each is unpacked for every container.
# The lists that customize.sh leaves are those of the repository inside: they stay.
mmdebstrap --variant=apt --include="$packages" \
  --keyring=/usr/share/keyrings/debian-archive-keyring.gpg \
  --dpkgopt='path-exclude=/usr/share/man/*' \
  --dpkgopt='path-exclude=/usr/share/locale/*' \
  --dpkgopt='path-exclude=/usr/share/doc/*' \
  --dpkgopt='path-include=/usr/share/doc/*/copyright' \
  --skip=cleanup/apt/lists \
  --customize-hook="'$here/guest/customize.sh' \"\$1\" $*" \
  "$suite" "$output" "$mirror"
