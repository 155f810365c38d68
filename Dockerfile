# kafka2hive in a container: `docker build -t kafka2hive .`, then `docker run -v $PWD/flights.yaml:/etc/kafka2hive/map.yaml:ro kafka2hive`.
#
# tests/unit/test_dockerfile.py checks this file (what it installs, from where, as whom). scripts/try-image has built the
# stages `decoder` and `service` with buildah on stand-ins for the base images. On the official images it
# has not been built, because no registry of images was reachable; the stages for Kerberos have not been built at all.
#
# Python: the minor version that the tests run with. Java 17: what Spark needs. Packages: requirements.lock, nothing else.
# The base is pinned by minor version and Debian release, so that security updates arrive with a rebuild; pin its digest
# in your own registry when builds must be the same to the byte.
FROM rust:1-slim-bookworm AS decoder

RUN apt-get update \
    && apt-get install -y --no-install-recommends python3 python3-pip \
    && rm -rf /var/lib/apt/lists/*
RUN pip install --no-cache-dir --no-deps --break-system-packages maturin==1.16.0
WORKDIR /build
COPY native ./
RUN maturin build --release --locked --out /wheels

# librdkafka and confluent-kafka with Kerberos, for `docker build --target gssapi`: 4 to 5 minutes on two cores.
FROM python:3.11-slim-bookworm AS gssapi-client

RUN apt-get update \
    && apt-get install -y --no-install-recommends gcc g++ make npm libsasl2-dev libsasl2-modules-gssapi-mit libssl-dev \
       libcurl4-openssl-dev zlib1g-dev libzstd-dev \
    && rm -rf /var/lib/apt/lists/*
COPY scripts/build-gssapi ./
RUN ./build-gssapi /opt/librdkafka python3

FROM python:3.11-slim-bookworm AS service

RUN apt-get update \
    && apt-get install -y --no-install-recommends libgssapi-krb5-2 openjdk-17-jre-headless procps tini \
    && rm -rf /var/lib/apt/lists/*

WORKDIR /opt/kafka2hive
COPY requirements.lock ./
RUN pip install --no-cache-dir --no-deps --use-pep517 -r requirements.lock

COPY pyproject.toml README.md LICENSE ./
COPY kafka2hive ./kafka2hive
RUN pip install --no-cache-dir --no-deps .

# The compiled library: without it decoding takes 40 times as long or more, and there are no Avro files.
COPY --from=decoder /wheels /wheels
RUN pip install --no-cache-dir --no-deps --no-index /wheels/*.whl && rm -r /wheels

# The class archive of Spark's Java (160 MB) halves what a start costs.
ENV XDG_CACHE_HOME=/opt/kafka2hive/cache
RUN kafka2hive warm

# Spark's checkpoint and shuffle files: thrown away at every end. Mount a volume here when the container's disk is small.
RUN useradd --system --uid 10001 --create-home --home-dir /var/lib/kafka2hive kafka2hive
USER kafka2hive
WORKDIR /var/lib/kafka2hive
ENV KAFKA2HIVE_CONFIG=/etc/kafka2hive/map.yaml \
    PYTHONUNBUFFERED=1

# tini reaps Spark's children and hands SIGTERM to the driver alone (no -g): it then finishes or abandons the epoch.
# `docker stop` waits 10 s before it kills; give it more than twice limits.stop_within of the map: `docker stop -t 180`.
# A kill loses nothing either: the next start rolls forward what was committed and reads the rest again.
ENTRYPOINT ["tini", "--", "kafka2hive"]
CMD ["run", "--log-format", "json"]

# `docker build --target gssapi -t kafka2hive:gssapi .`: the same service with the client that can log in with Kerberos.
FROM service AS gssapi
USER root
RUN apt-get update \
    && apt-get install -y --no-install-recommends krb5-user libsasl2-2 libsasl2-modules-gssapi-mit libcurl4 libzstd1 \
    && rm -rf /var/lib/apt/lists/*
COPY --from=gssapi-client /opt/librdkafka /opt/librdkafka
RUN pip install --no-cache-dir --no-deps --force-reinstall /opt/librdkafka/wheels/*.whl
USER kafka2hive

# What `docker build` without --target makes.
FROM service
