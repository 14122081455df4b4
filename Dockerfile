# An image with Tandem for any machine that has Docker, Macs included (there `--platform linux/amd64`), or only the wheel, for another Linux:
#   docker build -t tandem . && docker run --rm -v "$PWD:/work" tandem tandem run --ranks 4 script.py
#   docker build --target wheel --output dist .
FROM debian:12 AS build
RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates make
WORKDIR /tandem
COPY scripts scripts
RUN scripts/setup.sh
COPY . .
RUN make wheel

FROM scratch AS wheel
COPY --from=build /tandem/dist /

FROM debian:12-slim
RUN apt-get update && apt-get install -y --no-install-recommends python3-venv libstdc++6 && rm -rf /var/lib/apt/lists/*
RUN --mount=type=bind,from=build,source=/tandem/dist,target=/dist \
    python3 -m venv /opt/tandem && /opt/tandem/bin/pip install --no-cache-dir /dist/tandem-*.whl
ENV PATH=/opt/tandem/bin:$PATH
WORKDIR /work
CMD ["tandem", "--help"]
