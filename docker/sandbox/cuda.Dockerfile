# The sandbox of GPU assignments: nvcc and ninja, torch, Triton, TileLang and CuTe DSL, and nothing of ours. The nvidia
# runtime adds the driver's libraries and the session's GPUs when a container starts.
#   docker build -f docker/sandbox/cuda.Dockerfile --build-arg BASE=nvidia/cuda@sha256:... -t solmark-sandbox-cuda .
ARG BASE=nvidia/cuda:13.0.2-devel-ubuntu24.04
FROM ${BASE} AS environment

ARG CONSTRAINTS=constraints/cuda.txt
ARG SANDBOX_CONSTRAINTS=constraints/sandbox-cuda.txt
ARG PACKAGES="numpy torch triton ninja tilelang nvidia-cutlass-dsl"
ENV PIP_NO_CACHE_DIR=1
RUN for program in g++ python3; do command -v $program >/dev/null || missing=1; done; \
    python3 -c 'import ensurepip' 2>/dev/null || missing=1; \
    test -z "${missing:-}" || { apt-get update -q \
    && apt-get install -q -y --no-install-recommends g++ python3 python3-venv \
    && rm -rf /var/lib/apt/lists/*; }
# An environment of its own: a distribution's Python takes no packages from pip.
RUN python3 -m venv /opt/candidate
ENV PATH=/opt/candidate/bin:$PATH
COPY constraints /tmp/constraints
RUN cd /tmp && pip install -c ${CONSTRAINTS} -c ${SANDBOX_CONSTRAINTS} ${PACKAGES} && rm -rf /tmp/constraints
# The judge starts this interpreter, as a user that it chooses for each session; nobody owns anything here.
LABEL solmark.python=/opt/candidate/bin/python
USER 65534:65534
WORKDIR /tmp

FROM environment
# Only a base with CUDA's compiler will do.
RUN nvcc --version
