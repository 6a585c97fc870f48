#!/bin/sh
# Makes sure that there is a Chromium, for `make e2e`. Debian and its relatives get
# it from apt-get; elsewhere this says what to do.
set -eu

for name in "${CHROMIUM:-chromium}" chromium chromium-browser google-chrome; do
	command -v "$name" >/dev/null 2>&1 && exit 0
done

give_up() {
	echo "There is no Chromium on the PATH, and $1." >&2
	echo "Please install one, or name it: CHROMIUM=/path/to/chrome make e2e" >&2
	exit 1
}

command -v apt-get >/dev/null 2>&1 || give_up "there is no apt-get here"
as_root=
if [ "$(id -u)" -ne 0 ]; then
	command -v sudo >/dev/null 2>&1 || give_up "installing needs root, but there is no sudo"
	if [ -t 0 ]; then as_root="sudo"; else as_root="sudo -n"; fi
fi
install() { $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends chromium; }
echo "Installing chromium with apt-get."
install || { $as_root apt-get update -q && install; } || give_up "apt-get failed"
command -v chromium >/dev/null 2>&1 || give_up "apt-get did not provide one"
