#!/usr/bin/env bash
# Brings the whole of docker-compose.yml up on this machine, hands one solution in over HTTP, and takes all down again.
# It needs root, docker.io, debootstrap, and `make venv` (which brings Compose along). No image registry: the base is made
# of Debian's packages, and PostgreSQL and Redis of the same stand in for their images.
#   docker/rehearse.sh [PORT]        or PORT=... make rehearse; exit 0 only if the solution gets the verdict that it names
set -euo pipefail
cd "$(dirname "$0")/.."

port=${1:-${PORT:-8000}}
work=$(mktemp -d)
export XDG_CONFIG_HOME=$work/config PORT=$port
export BASE_IMAGE=solmark-base POSTGRES_IMAGE=solmark-postgres VALKEY_IMAGE=solmark-valkey
export SOLMARK_SECRET_KEY=$(openssl rand -hex 32) POSTGRES_PASSWORD=$(openssl rand -hex 16)
export BROKER_PASSWORD=$(openssl rand -hex 16) SOLMARK_PUBLIC_URL=http://127.0.0.1:$port SOLMARK_NODE_TOKEN=
export DOCKER_BUILDKIT=0   # The plain builder: buildx is a plugin of its own.

compose() { "$program" --project-name solmark-rehearsal "$@"; }
program=$(.venv/bin/python -c 'import compose, pathlib; print(pathlib.Path(compose.__file__).parent / "docker-compose")')

finish() {
    code=$?
    if ((code)); then compose --profile tools logs --tail 40 || true; fi
    compose --profile tools down --volumes --timeout 5 >/dev/null 2>&1 || true
    rm -rf "$work"
    exit "$code"
}
trap finish EXIT

say() { echo "rehearsal: $*"; }
server() { compose run --rm -T --no-deps web solmark-server "$@"; }

build() { docker build "$@" >/dev/null 2>"$work/log" || { cat "$work/log"; return 1; }; }

stand_ins() {
    build -q --network host -t "$POSTGRES_IMAGE" - <<EOF
FROM $BASE_IMAGE
RUN apt-get update -q && apt-get install -q -y --no-install-recommends postgresql
RUN printf '%s\n' '#!/bin/sh' 'set -e' 'cd /' 'data=/var/lib/postgresql/data; chown postgres "\$data"' \
    'if [ ! -s "\$data/PG_VERSION" ]; then' \
    '  as="setpriv --reuid postgres --regid postgres --init-groups"' \
    '  printf %s "\$POSTGRES_PASSWORD" >/tmp/pw; chmod 644 /tmp/pw' \
    '  \$as /usr/lib/postgresql/*/bin/initdb -D "\$data" -U "\$POSTGRES_USER" -E UTF8 -A scram-sha-256 --pwfile /tmp/pw' \
    '  rm /tmp/pw; echo "host all all all scram-sha-256" >>"\$data/pg_hba.conf"' \
    '  echo "CREATE DATABASE \$POSTGRES_DB" | \$as /usr/lib/postgresql/*/bin/postgres --single -D "\$data" postgres' \
    'fi' \
    'exec setpriv --reuid postgres --regid postgres --init-groups /usr/lib/postgresql/*/bin/postgres -D "\$data" -c "listen_addresses=*"' \
    >/start && chmod +x /start
CMD ["/start"]
EOF
    build -q --network host -t "$VALKEY_IMAGE" - <<EOF
FROM $BASE_IMAGE
RUN apt-get update -q && apt-get install -q -y --no-install-recommends redis-server redis-tools \
    && ln -s /usr/bin/redis-server /usr/local/bin/valkey-server && ln -s /usr/bin/redis-cli /usr/local/bin/valkey-cli
WORKDIR /data
EOF
}

images() {  # Compose would start each build in a network of its own, from which this machine's registry may be away.
    build -q --network host -f docker/server.Dockerfile --build-arg "BASE=$BASE_IMAGE" -t solmark-server .
    build -q --network host -f docker/worker.Dockerfile --build-arg "BASE=$BASE_IMAGE" -t solmark-worker .
    build -q --network host -f docker/worker.Dockerfile --build-arg "BASE=$BASE_IMAGE" \
        --build-arg EXTRAS=server,worker -t solmark-publish .
}

docker/engine.sh
say "building"
docker/base.sh "$BASE_IMAGE"
BASE_IMAGE=$(docker image inspect --format "{{.Id}}" "$BASE_IMAGE")   # Tags move.
stand_ins
images

say "starting all but the worker"
compose up -d --no-build --wait web
compose up -d --no-build tasks beat
server create-admin ada --generate | sed 's/: .*/: (password)/'
server create-course systems --title "Systems" --title-zh "系统" --as ada
password=$(server enrol bob --create --course systems --as ada | sed -n 's/^bob: //p')
compose run --rm -T --no-deps publish solmark-server publish kernels/add-rmsnorm --course systems --as ada
SOLMARK_NODE_TOKEN=$(server add-node node-1)
export SOLMARK_NODE_TOKEN

say "starting the worker"
compose up -d --no-build worker
compose exec -T worker solmark doctor || true   # What the container can enforce; says itself what is missing.
solution=reference/kernels/add-rmsnorm/solution.py
.venv/bin/solmark login --server "$SOLMARK_PUBLIC_URL" --user bob <<<"$password"
.venv/bin/solmark submit kernels/add-rmsnorm "$solution" --mode test --follow
say "accepted"
