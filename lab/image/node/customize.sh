#!/bin/sh
# Turns the unpacked Debian system ROOT into the lab's node, as root.
# Usage: customize.sh ROOT
set -eu

root=$1
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)

tar --create --directory="$here/files" --owner=0 --group=0 --mode='u+rwX,go+rX,go-w' . |
  tar --extract --directory="$root" --no-overwrite-dir

# Host name and keys come with the seed; the machine that builds the image leaves no trace in it.
: >"$root/etc/machine-id"
: >"$root/etc/resolv.conf"
echo localhost >"$root/etc/hostname"
rm -f "$root"/etc/ssh/ssh_host_*

systemctl --root="$root" --quiet enable \
  systemd-networkd.service lab-seed.service ssh.service lxcfs.service apparmor.service
# No network beyond the host's loopback: what waits for one, or wants to fetch, stays off. The
# stand-in imports the pool itself; systemd's import would wait for every device to settle.
systemctl --root="$root" --quiet mask \
  systemd-networkd-wait-online.service apt-daily.timer apt-daily-upgrade.timer \
  man-db.timer e2scrub_all.timer e2scrub_reap.service fstrim.timer dpkg-db-backup.timer \
  lxc-net.service networking.service ifupdown-pre.service getty@tty1.service \
  zfs-import-cache.service zfs-import-scan.service systemd-udev-settle.service

chroot "$root" update-initramfs -u -k all
