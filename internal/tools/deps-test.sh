#!/bin/sh
# Makes sure that what the tests need besides Go is on the PATH: a redis-server,
# which they start themselves on free ports, and a C compiler for the race
# detector. Debian and its relatives get them from apt-get; elsewhere this says
# what to install. With REDIS_URL set, no redis-server is looked for.
set -eu

have() { command -v "$1" >/dev/null 2>&1; }

packages=
if [ -z "${REDIS_URL:-}" ] && ! have redis-server; then
	packages="redis-server"
fi
if ! have "${CC:-cc}" && ! have gcc && ! have clang; then
	packages="$packages gcc libc6-dev"
fi
[ -n "$packages" ] || exit 0

give_up() {
	echo "The tests need software that is not on the PATH, and $1." >&2
	echo "Please install (names as in Debian):$(printf ' %s' $packages)" >&2
	echo "  Debian, Ubuntu:  sudo apt-get install redis-server gcc libc6-dev" >&2
	echo "  Fedora:          sudo dnf install redis gcc" >&2
	echo "  Arch:            sudo pacman -S redis gcc" >&2
	echo "  macOS:           brew install redis && xcode-select --install" >&2
	echo "or point REDIS_URL at a Redis that the tests may write to." >&2
	exit 1
}

have apt-get || give_up "there is no apt-get here"

as_root=
if [ "$(id -u)" -ne 0 ]; then
	have sudo || give_up "installing needs root, but there is no sudo"
	# Without a terminal, sudo must not wait for a password.
	if [ -t 0 ]; then as_root="sudo"; else as_root="sudo -n"; fi
fi

# RUNLEVEL=1 keeps the package from starting a service where there is no
# systemd. Where there is, a server starts on port 6379: the tests never use
# it, and "systemctl disable --now redis-server" stops it.
install() {
	$as_root env DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 \
		apt-get install -y -q --no-install-recommends $packages
}

echo "Installing$(printf ' %s' $packages) with apt-get."
# Package lists may be missing or old, so a failure is tried again with new ones.
install || { $as_root apt-get update -q && install; } || give_up "apt-get failed"
[ -n "${REDIS_URL:-}" ] || have redis-server || give_up "apt-get did not provide redis-server"
