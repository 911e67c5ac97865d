"""A client of the Kafka protocol, for brokers, gateway, Spark and the command line; operators' plans: `headrace.admin`."""
