# docker build -t tosloc . && docker run --rm -v "$PWD:/repo:ro" tosloc localize "text of a report"
FROM python:3.11-slim AS build
WORKDIR /src
COPY pyproject.toml README.md LICENSE constraints.txt ./
COPY configs configs
COPY tosloc tosloc
RUN python -m venv /opt/tosloc \
    && /opt/tosloc/bin/pip install --no-cache-dir --constraint constraints.txt '.[serve,mcp]'

FROM python:3.11-slim
RUN apt-get update \
    && apt-get install --yes --no-install-recommends git libgomp1 \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --create-home tosloc
COPY --from=build /opt/tosloc /opt/tosloc
USER tosloc
WORKDIR /repo
ENTRYPOINT ["/opt/tosloc/bin/tosloc"]
