#!/bin/sh
# The first process of the machine: loads the kernel's modules, runs the job, and powers off, also after an error.
export PATH=/bin HOME=/root
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev 2>/dev/null
mount -t tmpfs tmp /tmp
mount -t tmpfs run /run
mkdir -p /dev/net /run/netns
[ -e /dev/net/tun ] || mknod /dev/net/tun c 10 200
ip link set lo up
while read -r module; do
    insmod "/modules/$module" || echo "lab: the module $module cannot be loaded"
done </modules/order
echo "lab: $(uname -r) is up"
# The wait covers some seconds in which the kernel chooses and calibrates its clocks, and timers may be late by 10 ms.
sleep 5
sh /job/run
poweroff -f
