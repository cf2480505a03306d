#!/bin/sh
# collect.sh PREFIX: gathers the tools below PREFIX so that they run there in any Linux image, with or without a libc.
# Runs inside the build stage of the Dockerfile.
set -eu
prefix=$1
programs="/usr/bin/ssh /usr/bin/ssh-add /usr/bin/ssh-agent /usr/bin/ssh-keygen
  /usr/bin/rsync /usr/bin/tmux /usr/bin/bash /usr/bin/socat /usr/sbin/sshd"
# scp and sftp are started by the scripts of the same name in bin/.
helpers="/usr/bin/scp /usr/bin/sftp /usr/lib/openssh/sshd-session /usr/lib/openssh/sshd-auth /usr/lib/openssh/sftp-server"

mkdir -p "$prefix/bin" "$prefix/lib" "$prefix/libexec" "$prefix/applets" "$prefix/share/terminfo" "$prefix/share/locale"
for program in $programs; do cp -L "$program" "$prefix/bin/"; done
for helper in $helpers; do cp -L "$helper" "$prefix/libexec/"; done
cp -L /usr/bin/busybox "$prefix/bin/busybox"
# Some clients ask for these by bare name over ssh.
ln -s ../libexec/sftp-server "$prefix/bin/sftp-server"

# sshd puts the socket of a forwarded key agent into a new folder of /tmp, which images made from nothing do not have and
# read-only images do not let it write to. /dev/shm is in every container; the two names have the same length.
sed -i 's#/tmp/ssh-XXXXXXXXXX#/dev/shm/XXXXXXXXXX#' "$prefix/libexec/sshd-session"
grep -q '/dev/shm/XXXXXXXXXX' "$prefix/libexec/sshd-session"

for binary in $programs $helpers; do ldd "$binary"; done | awk '/=> \//{print $3}' | sort -u | xargs -I{} cp -L {} "$prefix/lib/"
loader=$(ldd /usr/bin/tmux | awk '/ld-linux/{print $1}')
cp -L "$loader" "$prefix/lib/"
loader=$(basename "$loader")

# DT_RPATH, not DT_RUNPATH: it wins over an LD_LIBRARY_PATH that the image sets (CUDA and conda images do), and covers
# libraries of libraries. The image's libc must never meet our loader.
patch() { patchelf --set-interpreter "$prefix/lib/$loader" --force-rpath --set-rpath "$prefix/lib" "$1"; }
for program in $programs; do patch "$prefix/bin/$(basename "$program")"; done
for helper in $helpers; do patch "$prefix/libexec/$(basename "$helper")"; done
for library in "$prefix"/lib/*.so*; do
  case $library in */ld-linux*) ;; *) patchelf --force-rpath --set-rpath "$prefix/lib" "$library" ;; esac
done

for entry in x/xterm x/xterm-256color s/screen s/screen-256color t/tmux t/tmux-256color v/vt100 l/linux d/dumb; do
  for database in /usr/share/terminfo /lib/terminfo /etc/terminfo; do
    [ -e "$database/$entry" ] || continue
    mkdir -p "$prefix/share/terminfo/${entry%/*}"
    cp -L "$database/$entry" "$prefix/share/terminfo/$entry"
  done
done
cp -a /usr/lib/locale/C.utf8 "$prefix/share/locale/C.utf8"

# ls, cat, vi, ... for images that hold no shell at all; see bin/berth-shell.
for applet in $("$prefix/bin/busybox" --list); do ln -s ../bin/busybox "$prefix/applets/$applet"; done

chmod 755 "$prefix"/bin/*
chmod -R a+rX "$prefix"
