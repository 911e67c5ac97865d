# A member of the etcd that compose.yaml runs: Debian's own package, so that nothing else has to be trusted.
FROM debian:bookworm-slim
RUN apt-get update && apt-get install -y --no-install-recommends etcd-server && rm -rf /var/lib/apt/lists/*
USER nobody
VOLUME /var/lib/etcd
EXPOSE 2379 2380
ENTRYPOINT ["etcd", "--data-dir", "/var/lib/etcd/member"]
