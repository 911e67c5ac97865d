"""A raw client of the Kafka protocol: what brokers use among themselves, and Spark later. Not a producer or consumer."""
