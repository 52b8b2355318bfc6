# posbias with models, on a processor: docker build -t posbias . && docker run --rm -v "$PWD:/work" posbias histogram planted
# To leave out CUDA give the index of torch's CPU builds: docker build --build-arg TORCH_INDEX=ADDRESS -t posbias .
FROM python:3.11-slim-bookworm

ARG TORCH_INDEX=""
WORKDIR /opt/posbias
RUN useradd --create-home --uid 1000 posbias
COPY constraints.txt pyproject.toml setup.cfg setup.py README.md LICENSE ./
COPY positionbias positionbias
RUN pip install --no-cache-dir -c constraints.txt ${TORCH_INDEX:+--extra-index-url "$TORCH_INDEX"} ".[models]"

USER 1000
WORKDIR /work
ENV POSBIAS_HOME=/work HF_HUB_DISABLE_TELEMETRY=1
ENTRYPOINT ["posbias"]
CMD ["--help"]
