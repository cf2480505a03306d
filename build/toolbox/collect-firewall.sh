#!/bin/sh
# collect-firewall.sh PREFIX: gathers iptables below PREFIX, for the container in which an agent that is not root sets the rules of
# sessions (agent/network/container-iptables.ts). Sessions do not get it. Runs inside the build stage of the Dockerfile.
set -eu
prefix=$1
programs='xtables-nft-multi xtables-legacy-multi'

mkdir -p "$prefix/bin" "$prefix/lib/xtables"
for program in $programs; do cp -L "/usr/sbin/$program" "$prefix/bin/"; done
# All of them: whoever lists a table meets the matches of other programs, too.
cp -L /usr/lib/*/xtables/*.so "$prefix/lib/xtables/"
for program in $programs; do ldd "/usr/sbin/$program"; done | awk '/=> \//{print $3}' | sort -u | xargs -I{} cp -L {} "$prefix/lib/"
loader=$(ldd /usr/sbin/xtables-nft-multi | awk '/ld-linux/{print $1}')
cp -L "$loader" "$prefix/lib/"
for program in $programs; do
  patchelf --set-interpreter "$prefix/lib/$(basename "$loader")" --force-rpath --set-rpath "$prefix/lib" "$prefix/bin/$program"
done
for library in "$prefix"/lib/*.so* "$prefix"/lib/xtables/*.so; do
  case $library in */ld-linux*) ;; *) patchelf --force-rpath --set-rpath "$prefix/lib" "$library" ;; esac
done
chmod -R a+rX "$prefix"
