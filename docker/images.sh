#!/usr/bin/env bash
# Builds every image of docker/ on a base that is made here if need be (docker/base.sh): for machines without an image
# registry, and for the tests. The one for GPUs fetches 3 GB and takes 7.
#   docker/images.sh [TAG]
#   BUILD_NETWORK      as `docker build --network` takes it; by default host, since a registry of packages may be there
set -euo pipefail
cd "$(dirname "$0")/.."

tag=${1:-latest}
base=${BASE_IMAGE:-solmark-base}
export DOCKER_BUILDKIT=0   # The plain builder: buildx is a plugin of its own.

build() {  # NAME FILE [ARGUMENTS]
    local name=$1 file=$2 log
    shift 2
    if ! log=$(docker build -q --force-rm --network "${BUILD_NETWORK:-host}" -f "docker/$file" --build-arg "BASE=$base" \
        -t "$name:$tag" "$@" . 2>&1); then
        echo "$file does not build:" >&2
        tail -40 <<<"$log" >&2
        exit 1
    fi
    echo "$name:$tag"
}

docker/base.sh "$base"
base=$(docker image inspect --format "{{.Id}}" "$base")   # Tags move.
build solmark-server server.Dockerfile
build solmark-worker worker.Dockerfile
build solmark-sandbox-cpu sandbox/cpu.Dockerfile
build solmark-sandbox-cuda sandbox/cuda.Dockerfile
