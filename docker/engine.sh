#!/usr/bin/env bash
# Starts a Docker daemon if none answers, and waits until it does. Needs root and docker.io; for machines without an
# init system, such as a fresh virtual machine. DOCKERD_OPTIONS are handed to it.
#   docker/engine.sh [stop]        stop ends the daemon that this has started
set -euo pipefail

pidfile=/run/solmark/dockerd.pid
if [[ ${1:-} == stop ]]; then
    if [[ -f $pidfile ]]; then kill "$(cat "$pidfile")" 2>/dev/null || true; rm -f "$pidfile"; fi
    exit 0
fi
if docker version >/dev/null 2>&1; then exit 0; fi
command -v dockerd >/dev/null || { echo "There is no Docker here (Debian: apt-get install docker.io)" >&2; exit 1; }
mkdir -p /run/solmark
log=/run/solmark/dockerd.log
# shellcheck disable=SC2086 (several options)
setsid dockerd ${DOCKERD_OPTIONS:-} >"$log" 2>&1 </dev/null &
echo $! >"$pidfile"
for _ in $(seq 300); do
    if docker version >/dev/null 2>&1; then exit 0; fi
    kill -0 "$(cat "$pidfile")" 2>/dev/null || break
    sleep 0.1
done
echo "dockerd does not answer:" >&2
tail -20 "$log" >&2
exit 1
