# A grading node: judge, sandbox, compiler. It makes cgroups, namespaces and users for what students hand in: see
# docker-compose.yml for the rights that this takes. For GPUs, give a base with CUDA and its constraints:
#   --build-arg BASE=...@sha256:... --build-arg CONSTRAINTS=constraints/cuda.txt
# The constraints for a CPU need a registry that has CPU builds of torch (--build-arg PIP_EXTRA_INDEX_URL=...); from
# another one, the second file is taken by itself: larger, as it brings CUDA's libraries along.
ARG BASE
FROM ${BASE}
# By its digest: a tag may be another image tomorrow (docker/README.md).
ARG BASE
RUN case "${BASE}" in *sha256:*) ;; *) echo "BASE must name an image by its digest" >&2; exit 1;; esac

ARG CONSTRAINTS=constraints/cpu.txt
ARG FALLBACK_CONSTRAINTS=constraints/cuda.txt
ARG PIP_EXTRA_INDEX_URL=
ARG EXTRAS=worker
ENV PYTHONUNBUFFERED=1 PIP_NO_CACHE_DIR=1
RUN apt-get update -q \
    && apt-get install -q -y --no-install-recommends g++ libseccomp2 util-linux \
    && rm -rf /var/lib/apt/lists/*
# An environment of its own: a distribution's Python (see README.md) takes no packages from pip.
RUN python3 -m venv /opt/solmark
ENV PATH=/opt/solmark/bin:$PATH
WORKDIR /src
COPY pyproject.toml README.md ./
COPY constraints constraints
# Everything that the package and these extras name, before the package itself: a change of ours builds in seconds.
RUN python -c "import tomllib; p = tomllib.load(open('pyproject.toml', 'rb'))['project']; \
extras = [n for extra in '${EXTRAS}'.split(',') for n in p['optional-dependencies'][extra]]; \
print('\n'.join(p['dependencies'] + extras))" > requirements.txt \
    && { pip install -c ${CONSTRAINTS} -r requirements.txt \
    || pip install -c ${FALLBACK_CONSTRAINTS} -r requirements.txt; }
COPY grader grader
COPY server server
RUN pip install --no-deps .
WORKDIR /var/lib/solmark
ENV SOLMARK_HOME=/var/lib/solmark
# SIGTERM lets a job finish within its grace, or gives it back: give `docker stop` more time than that.
STOPSIGNAL SIGTERM
CMD ["python", "-m", "grader.worker"]
