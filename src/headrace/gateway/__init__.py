"""The queue for people and programs that do not speak Kafka: REST, push, metrics and the admin UI, in one process.

An edge: it talks to brokers as any Kafka client does, keeps nothing of its own on disk, and any number of gateways may
stand side by side before one cluster.
"""
