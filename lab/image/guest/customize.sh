#!/bin/sh
# Turns the unpacked Debian system ROOT into the container template, with an apt repository
# inside so that packages can be installed without a network.
# Usage: customize.sh ROOT PACKAGE...   (a customize hook of mmdebstrap, which sets
#        MMDEBSTRAP_APT_CONFIG: the repository's packages are fetched with its apt)
set -eu

root=$1
shift
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
repository=$root/var/lib/lab-packages

tar --create --directory="$here/files" --owner=0 --group=0 --mode='u+rwX,go+rX,go-w' . |
  tar --extract --directory="$root" --no-overwrite-dir

# What is left of the bootstrap is installed already: only what comes now is for the repository.
rm -f "$root"/var/cache/apt/archives/*.deb
mkdir -p "$repository"
APT_CONFIG=$MMDEBSTRAP_APT_CONFIG apt-get --yes --quiet --download-only install "$@"
mv "$root"/var/cache/apt/archives/*.deb "$repository"
(cd "$repository" && apt-ftparchive packages . >Packages)

rm -rf "$root"/var/lib/apt/lists/* "$root"/etc/apt/sources.list.d/*
echo 'deb [trusted=yes] file:/var/lib/lab-packages ./' >"$root/etc/apt/sources.list"
chroot "$root" apt-get --quiet update

# What an unprivileged container may not do, and what is of no use without a network.
systemctl --root="$root" --quiet mask \
  sys-kernel-config.mount sys-kernel-debug.mount systemd-modules-load.service \
  apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer e2scrub_all.timer
systemctl --root="$root" --quiet enable ssh.service

# The machine that builds the template leaves no trace in it.
rm -f "$root"/etc/ssh/ssh_host_* "$root"/var/log/*.log "$root"/var/log/apt/*
: >"$root/etc/machine-id"
: >"$root/etc/resolv.conf"
echo localhost >"$root/etc/hostname"
