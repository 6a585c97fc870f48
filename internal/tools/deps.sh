#!/bin/sh
# Makes sure that what the tests need besides Go is there: redis-server and
# PostgreSQL, which they start themselves on free ports, the clients that
# invalidate without Go, and a C compiler for the race detector. With the argument
# "mariadb", MariaDB as well. Debian and its relatives get them from apt-get;
# elsewhere this says what to install. With REDIS_URL set, neither redis-server nor
# its clients are looked for.
set -eu

have() { command -v "$1" >/dev/null 2>&1; }

# Debian keeps the servers out of the PATH.
have_postgres() {
	if [ -n "${TWOFOLD_POSTGRES_BIN:-}" ]; then
		[ -x "$TWOFOLD_POSTGRES_BIN/initdb" ]
		return
	fi
	for initdb in initdb /usr/lib/postgresql/*/bin/initdb; do
		have "$initdb" && return
	done
	return 1
}

# The system's Python first: Debian's package is for that one. Debian's Node.js looks
# for modules in this folder by itself, others do not.
have_python() {
	for python in /usr/bin/python3 python3; do
		"$python" -c 'import redis' >/dev/null 2>&1 && return
	done
	return 1
}
have_node() { NODE_PATH="${NODE_PATH:-/usr/share/nodejs}" node -e 'require("redis")' >/dev/null 2>&1; }
have_mariadb() {
	have mariadb || return
	have "${TWOFOLD_MARIADB_SERVER:-mariadbd}" || have /usr/sbin/mariadbd
}

missing() {
	if [ -z "${REDIS_URL:-}" ]; then
		have redis-server || printf ' redis-server'
		have redis-cli || printf ' redis-tools'
		have_python || printf ' python3-redis'
		have_node || printf ' nodejs node-redis'
	fi
	have sqlite3 || printf ' sqlite3'
	have psql || printf ' postgresql-client'
	have curl || printf ' curl'
	have_postgres || printf ' postgresql'
	have "${CC:-cc}" || have gcc || have clang || printf ' gcc libc6-dev'
	[ "$1" != mariadb ] || have_mariadb || printf ' mariadb-server'
}

want="${1:-}"
packages="$(missing "$want")"
[ -n "$packages" ] || exit 0

give_up() {
	echo "The tests need software that was not found, and $1." >&2
	echo "Please install (names as in Debian):$packages" >&2
	echo "  Debian, Ubuntu:  sudo apt-get install$packages" >&2
	echo "  Fedora:          sudo dnf install redis postgresql-server python3-redis nodejs sqlite gcc (mariadb-server)" >&2
	echo "  Arch:            sudo pacman -S redis postgresql python-redis nodejs npm sqlite gcc (mariadb)" >&2
	echo "  macOS:           brew install redis postgresql node (mariadb) && pip3 install redis && xcode-select --install" >&2
	echo "  and elsewhere than on Debian: npm install -g redis, with NODE_PATH set to what npm root -g prints" >&2
	echo "or point REDIS_URL at a Redis that the tests may write to, or TWOFOLD_POSTGRES_BIN at" >&2
	echo "the folder of PostgreSQL's initdb." >&2
	exit 1
}

have apt-get || give_up "there is no apt-get here"

as_root=
if [ "$(id -u)" -ne 0 ]; then
	have sudo || give_up "installing needs root, but there is no sudo"
	# Without a terminal, sudo must not wait for a password.
	if [ -t 0 ]; then as_root="sudo"; else as_root="sudo -n"; fi
fi

# Debian's PostgreSQL would make a database of its own, and start it on port 5432.
# This setting says no, unless the machine has one already. To get one later:
# pg_createcluster.
no_cluster() {
	conf=/etc/postgresql-common/createcluster.conf
	[ -e "$conf" ] || $as_root sh -c "mkdir -p ${conf%/*} && echo 'create_main_cluster = false' >$conf"
}

# RUNLEVEL=1 keeps the packages from starting a service where there is no
# systemd. Where there is, Redis starts on port 6379 and MariaDB on 3306: the tests
# never use them, and "systemctl disable --now redis-server mariadb" stops them.
# UCF_FORCE_CONFFOLD keeps the setting of no_cluster.
install() {
	$as_root env DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 UCF_FORCE_CONFFOLD=1 \
		apt-get install -y -q --no-install-recommends $packages
}

echo "Installing$packages with apt-get."
case "$packages" in *postgresql*) no_cluster || give_up "no file could be written as root" ;; esac
# Package lists may be missing or old, so a failure is tried again with new ones.
install || { $as_root apt-get update -q && install; } || give_up "apt-get failed"
packages="$(missing "$want")"
[ -z "$packages" ] || give_up "apt-get did not provide it"
