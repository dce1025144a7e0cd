#!/bin/sh
# The first process of a machine: makes its file system and its network card, and starts a program in it.
#
#   unshare --mount --net --pid --uts --fork --kill-child --propagation=private \
#       sh machine.sh ROOT NAME ADDRESS [PLACE | PLACE=WHERE | PLACE=WHERE:rw]... -- PROGRAM [ARGUMENT...]
#
# ROOT is an empty folder, NAME that of the host. Each PLACE of this file system is seen there, read-only unless it ends in :rw, under the
# same name or as WHERE; nothing else is. The script says "made", waits for a line on standard input, by which time
# somebody has connected eth0, and ends with all processes of the machine when standard input closes.
set -eu
root=$1
name=$2
address=$3
shift 3
echo made
read -r _

ip link set lo up
ip link set eth0 up
ip address add "$address/24" dev eth0
hostname "$name"

mount -t tmpfs -o mode=755 machine "$root"
while [ "$1" != "--" ]; do
    place=${1%%=*}
    where=${1#*=}
    is_read_only=yes
    case $where in *:rw) where=${where%:rw}; is_read_only=no ;; esac
    if [ -L "$place" ]; then
        mkdir -p "$root$(dirname "$where")"
        cp -P "$place" "$root$where"
    else
        mkdir -p "$root$where"
        mount --bind "$place" "$root$where"
        if [ $is_read_only = yes ]; then mount -o remount,bind,ro "$root$where"; fi
    fi
    shift
done
shift
printf '127.0.0.1 localhost\n%s %s\n' "$address" "$name" >"$root/hosts"
mount --bind "$root/hosts" "$root/etc/hosts"
mkdir -p "$root/proc" "$root/dev" "$root/tmp" "$root/outside"
mount --rbind /dev "$root/dev"
chmod 1777 "$root/tmp"
cd "$root"
pivot_root . outside
mount -t proc proc /proc
umount -l /outside
rmdir /outside
cd /tmp

"$@" </dev/null >&2 &
read -r _ || true
