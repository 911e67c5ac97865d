"""A raw client of the Kafka protocol: what brokers use among themselves. Not a producer or consumer."""
