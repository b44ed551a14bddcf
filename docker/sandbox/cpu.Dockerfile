# What a student's code finds around it in a Docker sandbox: an interpreter with torch and Triton, a C++ compiler,
# and nothing of ours. The candidate's harness is mounted read-only when a session starts.
ARG BASE
FROM ${BASE}
# By its digest: a tag may be another image tomorrow (docker/README.md).
ARG BASE
RUN case "${BASE}" in *sha256:*) ;; *) echo "BASE must name an image by its digest" >&2; exit 1;; esac

ARG CONSTRAINTS=constraints/cpu.txt
ARG FALLBACK_CONSTRAINTS=constraints/cuda.txt
ARG PIP_EXTRA_INDEX_URL=
ARG PACKAGES="numpy torch triton"
ENV PIP_NO_CACHE_DIR=1
RUN command -v g++ >/dev/null || { apt-get update -q \
    && apt-get install -q -y --no-install-recommends g++ \
    && rm -rf /var/lib/apt/lists/*; }
# An environment of its own: a distribution's Python takes no packages from pip.
RUN python3 -m venv /opt/candidate
ENV PATH=/opt/candidate/bin:$PATH
COPY constraints /tmp/constraints
RUN cd /tmp && { pip install -c ${CONSTRAINTS} ${PACKAGES} || pip install -c ${FALLBACK_CONSTRAINTS} ${PACKAGES}; } \
    && rm -rf /tmp/constraints
# The judge starts this interpreter, as a user that it chooses for each session; nobody owns anything here.
LABEL solmark.python=/opt/candidate/bin/python
USER 65534:65534
WORKDIR /tmp
