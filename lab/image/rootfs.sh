#!/bin/sh
# Makes the node's Debian system, with the ZFS module built for its kernel, as root.
# Usage: rootfs.sh SUITE MIRROR PACKAGES OUTPUT.tar
set -eu

suite=$1 mirror=$2 packages=$3 output=$4

# ZFS is in contrib. dkms builds the module in the chroot, for the kernel installed there.
mmdebstrap --variant=important --components=main,contrib --include="$packages" \
  --keyring=/usr/share/keyrings/debian-archive-keyring.gpg \
  --dpkgopt='path-exclude=/usr/share/man/*' \
  --dpkgopt='path-exclude=/usr/share/locale/*' \
  --dpkgopt='path-exclude=/usr/share/doc/*' \
  --dpkgopt='path-include=/usr/share/doc/*/copyright' \
  --customize-hook='test -n "$(find "$1"/lib/modules -name "zfs.ko*")"' \
  "$suite" "$output" "$mirror"
