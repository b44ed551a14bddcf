# What a student's code finds around it in a Docker sandbox: an interpreter with torch and Triton, a C++ compiler,
# and nothing of ours. The candidate's harness is mounted read-only when a session starts.
ARG BASE=python:3.12-slim-bookworm
FROM ${BASE}

ARG CONSTRAINTS=constraints/cpu.txt
ENV PIP_NO_CACHE_DIR=1
RUN apt-get update -q \
    && apt-get install -q -y --no-install-recommends g++ \
    && rm -rf /var/lib/apt/lists/*
COPY ${CONSTRAINTS} /tmp/constraints.txt
RUN pip install -c /tmp/constraints.txt numpy torch triton && rm /tmp/constraints.txt
# The session's uid is chosen when it starts; nobody owns anything here.
USER 65534:65534
WORKDIR /tmp
