# The sandbox of GPU assignments: nvcc and ninja, torch, Triton, TileLang and CuTe DSL, and nothing of ours. The compiler
# and CUDA's libraries come as wheels, of the versions that torch names, so any base with Python will do. The nvidia
# runtime adds the driver's libraries and the session's GPUs when a container starts.
ARG BASE
FROM ${BASE}
# By its digest: a tag may be another image tomorrow (docker/README.md).
ARG BASE
RUN case "${BASE}" in *sha256:*) ;; *) echo "BASE must name an image by its digest" >&2; exit 1;; esac

ARG CONSTRAINTS=constraints/cuda.txt
ARG SANDBOX_CONSTRAINTS=constraints/sandbox-cuda.txt
ARG PACKAGES="numpy torch triton ninja tilelang nvidia-cutlass-dsl[cu13] cuda-toolkit[nvcc,crt,nvvm,cccl]"
ENV PIP_NO_CACHE_DIR=1
RUN command -v g++ >/dev/null || { apt-get update -q \
    && apt-get install -q -y --no-install-recommends g++ \
    && rm -rf /var/lib/apt/lists/*; }
# An environment of its own: a distribution's Python takes no packages from pip.
RUN python3 -m venv /opt/candidate
COPY constraints /tmp/constraints
RUN cd /tmp && /opt/candidate/bin/pip install -c ${CONSTRAINTS} -c ${SANDBOX_CONSTRAINTS} ${PACKAGES} \
    && rm -rf /tmp/constraints
# Where compilers look for CUDA. The linker wants names without versions.
RUN ln -s "$(echo /opt/candidate/lib/python3.*/site-packages/nvidia/cu13)" /usr/local/cuda \
    && cd /usr/local/cuda && ln -s lib lib64 \
    && for library in lib/*.so.*; do plain=${library%%.so.*}.so; test -e "$plain" || ln -s "${library##*/}" "$plain"; done
ENV PATH=/opt/candidate/bin:/usr/local/cuda/bin:$PATH CUDA_HOME=/usr/local/cuda
RUN nvcc --version && ninja --version
# The judge starts this interpreter, as a user that it chooses for each session; nobody owns anything here.
LABEL solmark.python=/opt/candidate/bin/python
USER 65534:65534
WORKDIR /tmp
