#!/bin/sh
# Makes the virtual machine's disk, kernel and initrd in the directory OUTPUT, as root.
# Usage: disk.sh ROOTFS.tar TEMPLATE.tar.zst TEMPLATE-NAME OUTPUT OWNER
set -eu

rootfs=$1 template=$2 name=$3 output=$4 owner=$5
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
tree=$output/tree

mkdir -p "$tree"
tar --extract --file="$rootfs" --directory="$tree" --numeric-owner
"$here/node/customize.sh" "$tree"
mkdir -p "$tree/var/lib/vz/template/cache"
cp "$template" "$tree/var/lib/vz/template/cache/$name"

# No boot loader: QEMU is given kernel and initrd.
cp "$tree"/boot/vmlinuz-* "$output/vmlinuz"
cp "$tree"/boot/initrd.img-* "$output/initrd"
truncate -s 12G "$output/root.raw"
mkfs.ext4 -q -L lab-root -d "$tree" "$output/root.raw"
rm -rf "$tree"
# Two builds of the same inputs are not the same bytes: a difference to one does not fit the other.
cp /proc/sys/kernel/random/uuid "$output/id"
chown -R "$owner" "$output"
