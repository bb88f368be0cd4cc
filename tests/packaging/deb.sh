#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# soak: makes a Debian to install into, from the network
# Debian's packages: built, looked at by lintian, installed in a fresh Debian and used there. The fresh one is a tree that debootstrap
# makes, in namespaces of its own, so that nothing stays mounted; it takes root and a mirror. DEBS=FOLDER tries packages that are there.
set -u
: "${ROOT:=$PWD}" "${MAKE:=make}"
work=$(mktemp -d)
trap 'rm -rf --one-file-system "$work"' EXIT
failed=0
log=$work/log
say() { if [ "$1" -eq 0 ]; then echo "ok - $2"; else echo "not ok - $2"; tail -n 15 "$log"; failed=1; fi; }
version=$(sed -n 's/^VERSION *:= *//p' "$ROOT/Makefile")
cd "$ROOT" || exit 1

if [ -z "${DEBS:-}" ]; then
  if ! command -v dpkg-query >/dev/null || ! tools/make/packages deb >"$log" 2>&1; then
    echo 'skip - they are built: this takes a Debian, and what make deb installs'
    exit 0
  fi
  env -u MAKEFLAGS -u MAKELEVEL -u OUT -u MODE "$MAKE" --no-print-directory deb >"$log" 2>&1
  say $? 'make deb'
  DEBS=$ROOT/build/deb
fi
DEBS=$(cd "$DEBS" && pwd)
architecture=$(dpkg --print-architecture) triplet=$(dpkg-architecture -qDEB_HOST_MULTIARCH)
file() { echo "$DEBS/$1_$version-1_$architecture.deb"; }
packages=$(sed -n 's/^Package: //p' tools/debian/control)

lintian --no-tag-display-limit --fail-on error,warning "$DEBS"/tobi_"$version"-1_*.changes >"$log" 2>&1
say $? 'lintian finds no error and no warning'
awk 'FNR == 1 { said = 0 } /^#/ { said = 1 } /^[^#]/ && !said { print FILENAME; bad = 1 } END { exit bad }' tools/debian/*.lintian-overrides >"$log" 2>&1
say $? 'each override has a reason'

# holds PACKAGE PATH...: paths below /usr that are in it.
holds() {
  local package=$1 path; shift
  dpkg-deb -c "$(file "$package")" | awk '{ print $6 }' >"$work/held"
  for path; do grep -qx "\./usr/$path" "$work/held" || echo "$package has no /usr/$path"; done >"$log"
  [ ! -s "$log" ]; say $? "$package holds what it must"
}
lib=lib/$triplet
holds libtobi0 "$lib/libtobi.so.0" "$lib/libtobi.so.$version"
holds libtobi-dev include/tobi/tobi.hpp include/ityr/ityr.hpp "$lib/libtobi.a" "$lib/libtobi.so" "$lib/pkgconfig/tobi.pc" "$lib/cmake/tobi/tobiConfig.cmake" "$lib/cmake/tobi/tobiConfigVersion.cmake" share/man/man7/tobi.7.gz
holds tobi-tools $(for tool in bench conform info perf report; do echo "bin/tobi-$tool share/man/man1/tobi-$tool.1.gz share/bash-completion/completions/tobi-$tool"; done) \
  share/man/man7/tobi-settings.7.gz share/man/man7/tobi-launch.7.gz
for mpi in openmpi mpich; do holds tobi-mpi-$mpi "$lib/libtobi-mpi-$mpi.so" "$lib/libtobi-perf-mpi-$mpi.so"; done
for package in $packages; do dpkg-deb -f "$(file "$package")" Version | grep -qx "$version-1" || echo "$package"; done >"$log" 2>&1
[ ! -s "$log" ]; say $? 'all packages have the version of the Makefile'

# --- a fresh Debian ---
rest='installed and used in a fresh Debian'
[ "$(id -u)" = 0 ] || { echo "skip - $rest: this takes root"; exit $failed; }
command -v debootstrap >/dev/null || { echo "skip - $rest: this takes debootstrap"; exit $failed; }
unshare --mount --propagation private true 2>/dev/null || { echo "skip - $rest: namespaces are not allowed"; exit $failed; }
codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
sources=$(ls /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null)
# Where the packages of this machine come from, by either way of writing it.
mirror=$(cat $sources 2>/dev/null | awk '/^URIs:/ { print $2 } /^deb / { for (i = 2; i <= NF; ++i) if ($i ~ /:\/\//) { print $i; break } }' | grep -m1 debian)
[ -n "$codename" ] && [ -n "$mirror" ] || { echo "skip - $rest: this machine names no mirror of Debian"; exit $failed; }

cat >"$work/outside" <<'END'
# In a mount namespace of its own: WORK MIRROR CODENAME.
set -eu
work=$1 tree=$1/tree
if ! timeout 900 debootstrap --variant=minbase "$3" "$tree" "$2" >"$work/debootstrap.log" 2>&1; then exit 77; fi
# Apt there goes where it goes here, with the same certificates.
cp -a /etc/apt/apt.conf.d/. "$tree/etc/apt/apt.conf.d/"
rm -f "$tree/etc/apt/sources.list"
for list in $(grep -lF "$2" /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null); do
  case $list in */sources.list) cp "$list" "$tree/etc/apt/" ;; *) cp "$list" "$tree/etc/apt/sources.list.d/" ;; esac
done
[ ! -d /etc/apt/keyrings ] || cp -a /etc/apt/keyrings "$tree/etc/apt/"
mkdir -p "$tree/etc/ssl/certs" "$tree/debs"
cp -aL /etc/ssl/certs/. "$tree/etc/ssl/certs/" 2>/dev/null || true
for file in resolv.conf hosts; do [ ! -e "/etc/$file" ] || cp -L "/etc/$file" "$tree/etc/"; done
cp "$work"/debs/* "$tree/debs/"
cp "$work/inside" "$tree/inside"
for folder in proc sys dev; do mount --rbind "/$folder" "$tree/$folder"; done
mount -t tmpfs tmpfs "$tree/tmp"
env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TERM=dumb LC_ALL=C.UTF-8 VERSION="${VERSION}" \
  ${http_proxy:+http_proxy="$http_proxy"} ${https_proxy:+https_proxy="$https_proxy"} chroot "$tree" /bin/bash /inside
END

cat >"$work/inside" <<'END'
# In the fresh tree, where /debs has the packages. Lines as in the other tests.
set -u
log=/tmp/log
say() { if [ "$1" -eq 0 ]; then echo "ok - fresh: $2"; else echo "not ok - fresh: $2"; tail -n 15 "$log"; fi; }
export DEBIAN_FRONTEND=noninteractive
install() { apt-get install -y -q --no-install-recommends "$@" >"$log" 2>&1; }
mkdir -p /tmp/work && cd /tmp/work || exit 1
# Man pages are left out of small images of Debian.
rm -f /etc/dpkg/dpkg.cfg.d/*docker*
apt-get update -q >"$log" 2>&1 || { echo "skip - fresh: apt-get update: $(tail -n 1 "$log")"; exit 0; }
install /debs/libtobi0_*.deb; say $? 'libtobi0 installs with its dependencies alone'
install /debs/libtobi-dev_*.deb /debs/tobi-tools_*.deb g++ pkg-config cmake make man-db bash-completion; say $? 'libtobi-dev and tobi-tools install'

[ "$(tobi-info --version)" = "$VERSION" ]; say $? 'tobi-info runs, and is of this version'
timeout 100 tobi-info >"$log" 2>&1 && grep -q shm "$log"; say $? 'tobi-info knows what it can use here'
TOBI_WORKERS=2 timeout 300 tobi-bench uts --tree T1 --verify >"$log" 2>&1; say $? 'tobi-bench counts a tree right'
TOBI_WORKERS=2 timeout 300 tobi-bench cilksort --n 1M --verify >"$log" 2>&1; say $? 'tobi-bench sorts in global memory'
timeout 100 tobi-conform shm >"$log" 2>&1; say $? 'tobi-conform passes with shm'
for page in tobi tobi-bench tobi-conform tobi-info tobi-perf tobi-report tobi-settings tobi-launch; do man -w $page; done >"$log" 2>&1; say $? 'each page is found by man'
man tobi 2>"$log" | grep -q fork-join; say $? 'man shows one'
bash -ic '. /usr/share/bash-completion/bash_completion; _completion_loader tobi-bench; complete -p tobi-bench
  COMP_WORDS=(tobi-bench ra); COMP_CWORD=1; _tobi; [ "${COMPREPLY[*]}" = ramp ]' >"$log" 2>&1 </dev/null; say $? 'bash-completion finds the completion of a tool'

cat >fib.cc <<'CODE'
#include <cstdio>
#include <tobi/tobi.hpp>

long fib(long n) {
  if (n < 2) return n;
  auto x = tobi::spawn([=] { return fib(n - 1); });
  const long y = fib(n - 2);
  return x.join() + y;
}

int main(int argc, char** argv) {
  tobi::runtime rt(argc, argv);
  const long r = tobi::run([] { return fib(30); });
  if (rt.rank() == 0) std::printf("%ld\n", r);
}
CODE
runs() { [ "$(TOBI_WORKERS=2 timeout 60 "$@" 2>"$log")" = 832040 ]; }
g++ -std=c++20 -O2 -Wall -Wextra -Werror fib.cc -o shared $(pkg-config --cflags --libs tobi) >"$log" 2>&1; say $? 'pkg-config: a first program compiles'
runs ./shared; say $? 'pkg-config: it runs'
ldd shared >"$log"; grep -q 'libtobi.so.0 => /.*lib/.*-linux-gnu/' "$log"; say $? 'pkg-config: it uses the library of the package'
g++ -std=c++20 -O2 fib.cc -o static $(pkg-config --cflags tobi) -Wl,-Bstatic -ltobi -Wl,-Bdynamic -lhwloc -lpthread -ldl -lm >"$log" 2>&1; say $? 'the static library: a first program compiles'
runs ./static; say $? 'the static library: it runs'
cat >CMakeLists.txt <<'CODE'
cmake_minimum_required(VERSION 3.16)
project(first CXX)
find_package(tobi REQUIRED)
add_executable(with_shared fib.cc)
target_link_libraries(with_shared tobi::tobi)
add_executable(with_static fib.cc)
target_link_libraries(with_static tobi::tobi_static)
CODE
# What CMake finds first may be below /lib, which is a link.
for path in /usr/bin:/bin /bin:/usr/bin; do
  rm -rf build
  PATH=$path cmake -B build . >"$log" 2>&1 && PATH=$path cmake --build build >>"$log" 2>&1; say $? "CMake, PATH=$path: a first program compiles"
  runs build/with_shared && runs build/with_static; say $? "CMake, PATH=$path: it runs"
done
printf 'cmake_minimum_required(VERSION 3.16)\nproject(first CXX)\nfind_package(tobi %s REQUIRED)\n' $((${VERSION%%.*} + 1)) >CMakeLists.txt
! cmake -B other . >"$log" 2>&1; say $? 'CMake: another major version is not this one'
cp /usr/share/doc/libtobi-dev/examples/*.cc . && g++ -std=c++20 -O2 wavefront.cc -o wavefront $(pkg-config --cflags --libs tobi) >"$log" 2>&1; say $? 'an example of the package compiles'

install /debs/tobi-mpi-mpich_*.deb mpich; say $? 'tobi-mpi-mpich installs'
[ "$(timeout 100 mpiexec.mpich -n 2 ./shared 2>"$log")" = 832040 ]; say $? "MPICH's launcher starts a job, with the plugin of the package"
[ "$(timeout 100 mpiexec.mpich -n 2 ./static 2>"$log")" = 832040 ]; say $? "a program with the static library finds the plugin too"
perf() { TOBI_MPI=$1 timeout 100 tobi-perf get --transport mpi --raw --json --iters 100 >"$log" 2>&1 && grep -q '"transport":"mpi".*"raw":true' "$log"; }
perf mpich; say $? "tobi-perf measures beside MPICH's own calls, with the plugins of the package"
install /debs/tobi-mpi-openmpi_*.deb openmpi-bin; say $? 'tobi-mpi-openmpi installs'
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
[ "$(TOBI_BOOTSTRAP=mpi timeout 100 mpirun.openmpi --oversubscribe -n 2 ./shared 2>"$log")" = 832040 ]; say $? "Open MPI's launcher starts a job, with the plugin of the package"
perf openmpi; say $? "tobi-perf measures beside Open MPI's own calls, with the plugins of the package"

apt-get purge -y -q 'tobi-*' 'libtobi*' >"$log" 2>&1; say $? 'all of them can be removed'
find / -xdev \( -path /debs -o -path /tmp -o -path /proc -o -path /sys -o -path /dev -o -path /var/cache \) -prune -o -name '*tobi*' -print >"$log"
[ ! -s "$log" ]; say $? 'nothing of them is left'
END

mkdir "$work/debs"
for package in $packages; do cp "$(file "$package")" "$work/debs/"; done
VERSION=$version unshare --mount --propagation private bash "$work/outside" "$work" "$mirror" "$codename" >"$work/fresh" 2>"$log"
status=$?
cat "$work/fresh"
if [ $status = 77 ]; then
  echo "skip - $rest: debootstrap cannot have it from $mirror: $(tail -n 1 "$work/debootstrap.log")"
else
  ! grep -q '^not ok' "$work/fresh" && [ $status = 0 ] && grep -qE '^(ok|skip)' "$work/fresh"; say $? 'the fresh Debian was used to the end'
fi
exit $failed
