# Images of the operator and of the Spark jobs it launches.
#   docker build --target operator -t hudi-operator .
#   docker build --target spark -t hudi-operator-spark .
# Behind a proxy with its own certificate authority add: --secret id=ca-bundle,src=/etc/ssl/certs/ca-certificates.crt
ARG DEBIAN=docker.io/library/debian:bookworm-slim

FROM ${DEBIAN} AS python
ENV LANG=C.UTF-8 PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
RUN apt-get update \
 && apt-get install --yes --no-install-recommends ca-certificates python3 \
 && rm -rf /var/lib/apt/lists/* /var/cache/apt/* /var/log/*

FROM python AS builder
RUN apt-get update && apt-get install --yes --no-install-recommends python3-venv
COPY --chmod=755 dev/image/trusting /usr/local/bin/trusting
RUN --mount=type=secret,id=ca-bundle \
    python3 -m venv /opt/uv && trusting /opt/uv/bin/pip install --no-cache-dir uv==0.13.8 \
 && ln -s /opt/uv/bin/uv /usr/local/bin/uv
ENV UV_NO_CACHE=1 UV_PYTHON_DOWNLOADS=never UV_PYTHON=/usr/bin/python3

# The lock file changes more often than what the images hold of it, so the lists are made apart.
FROM builder AS requirements
WORKDIR /requirements
COPY pyproject.toml uv.lock ./
RUN --mount=type=secret,id=ca-bundle \
    uv export --quiet --frozen --no-default-groups --no-emit-project --no-header --no-annotate > operator.txt \
 && uv export --quiet --frozen --all-groups --no-emit-project --no-hashes > locked.txt \
 && printf 'grpcio-tools\nobstore\npydantic\npyspark\n' > spark.in \
 && trusting uv pip compile --quiet --generate-hashes --no-header --no-annotate --constraint locked.txt spark.in \
    --output-file spark.txt

FROM builder AS operator-dependencies
COPY --from=requirements /requirements/operator.txt /requirements/operator.txt
COPY dev/image/drop_unused.py /build/
COPY --chmod=755 dev/image/hudi-operator /build/
RUN --mount=type=secret,id=ca-bundle \
    uv venv --quiet /opt/hudi \
 && trusting uv pip install --python /opt/hudi/bin/python --require-hashes -r /requirements/operator.txt \
 && python3 /build/drop_unused.py /opt/hudi/lib/python3.11/site-packages \
 && cp /build/hudi-operator /opt/hudi/bin/hudi-operator \
 && python3 -m compileall -q --invalidation-mode unchecked-hash /opt/hudi/lib

FROM builder AS jars
ARG MAVEN_REPOSITORY=https://repo1.maven.org/maven2
COPY dev/image/fetch_jars.py dev/image/jars.txt /build/
RUN --mount=type=secret,id=ca-bundle \
    trusting python3 /build/fetch_jars.py /build/jars.txt /jars ${MAVEN_REPOSITORY}

FROM builder AS spark-dependencies
RUN mkdir -p /usr/share/man/man1 \
 && apt-get update && apt-get install --yes --no-install-recommends openjdk-17-jdk-headless
COPY --from=requirements /requirements/spark.txt /requirements/spark.txt
RUN --mount=type=secret,id=ca-bundle \
    uv venv --quiet /opt/hudi \
 && trusting uv pip install --python /opt/hudi/bin/python --require-hashes -r /requirements/spark.txt \
 && python3 -m compileall -q --invalidation-mode unchecked-hash /opt/hudi/lib \
 && ln -s lib/python3.11/site-packages/pyspark /opt/hudi/spark \
 && mv /opt/hudi/spark/jars /opt/hudi/spark/lib && mkdir /opt/hudi/spark/jars
COPY --from=jars /jars/ /opt/hudi/spark/lib/
COPY dev/image/build_java.py dev/image/one_class_path.py /build/
COPY spark_jobs/java/src/main /build/java
RUN python3 /build/build_java.py /build/java /opt/hudi/spark/lib /opt/hudi/spark/lib/hudi-operator.jar \
 && python3 /build/one_class_path.py /opt/hudi/spark/lib /opt/hudi/spark/jars/class-path.jar

FROM python AS spark-code
COPY spark_jobs/hudi_jobs /code/hudi_jobs
RUN python3 -m compileall -q --invalidation-mode unchecked-hash -s /code -p /opt/hudi/lib/python3.11/site-packages /code

FROM python AS operator-code
COPY spark_jobs/hudi_jobs /code/hudi_jobs
COPY operator/hudi_operator /code/hudi_operator
RUN python3 -m compileall -q --invalidation-mode unchecked-hash -s /code -p /opt/hudi/lib/python3.11/site-packages /code

FROM python AS operator-base
RUN useradd --uid 65532 --user-group --no-create-home --home-dir /tmp hudi
COPY --from=operator-dependencies /opt/hudi /opt/hudi
ENV PATH=/opt/hudi/bin:$PATH HOME=/tmp
WORKDIR /tmp
USER 65532:65532
ENTRYPOINT ["hudi-operator"]

FROM operator-base AS operator
COPY --from=operator-code /code /opt/hudi/lib/python3.11/site-packages

FROM python AS spark-base
RUN mkdir -p /usr/share/man/man1 \
 && apt-get update \
 && apt-get install --yes --no-install-recommends openjdk-17-jre-headless procps \
 && rm -rf /var/lib/apt/lists/* /var/cache/apt/* /var/log/*
# Hadoop's login looks the user's name up.
RUN useradd --uid 185 --user-group --no-create-home --home-dir /tmp hudi
COPY --from=spark-dependencies /opt/hudi /opt/hudi
COPY --chmod=755 dev/image/spark-entrypoint /usr/local/bin/spark-entrypoint
# The root file system may be read-only: everything that Spark writes goes to /tmp.
ENV PATH=/opt/hudi/bin:$PATH SPARK_HOME=/opt/hudi/spark HOME=/tmp
WORKDIR /tmp
# Drivers start in half the time with an archive of the classes that they load.
COPY dev/image/train.py /opt/hudi/
RUN python3 /opt/hudi/train.py /opt/hudi/classes.jsa && rm -rf /tmp/*
USER 185:185
ENTRYPOINT ["spark-entrypoint"]

FROM spark-base AS spark
COPY --from=spark-code /code /opt/hudi/lib/python3.11/site-packages
