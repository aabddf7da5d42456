# The `tamis` command in an image:
#
#   docker build --tag tamis .
#   docker run --rm --env TAMIS_KAFKA__BOOTSTRAP_SERVERS=kafka:9092 tamis broker

FROM python:3.12-slim AS build
RUN apt-get update \
    && apt-get install --yes --no-install-recommends g++ \
    && rm -rf /var/lib/apt/lists/*
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1
WORKDIR /source
COPY constraints.txt .
RUN pip install --constraint constraints.txt cmake cython ninja scikit-build-core
COPY . .
RUN pip wheel --no-deps --no-build-isolation --wheel-dir /wheels .
# A folder that is whole by itself, so that the image needs neither a compiler nor pip.
RUN python -m venv --without-pip /opt/tamis \
    && pip --python /opt/tamis/bin/python install --constraint constraints.txt "$(echo /wheels/tamis-*.whl)[registry]"

FROM python:3.12-slim
COPY --from=build /opt/tamis /opt/tamis
# Where brokers of one machine see which slots are taken.
RUN useradd --uid 10001 --create-home tamis \
    && install --directory --owner tamis /var/lib/tamis
ENV PATH=/opt/tamis/bin:$PATH TAMIS_STATE_DIR=/var/lib/tamis PYTHONUNBUFFERED=1
USER 10001
WORKDIR /home/tamis
ENTRYPOINT ["tamis"]
CMD ["--help"]
