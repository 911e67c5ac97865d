"""Projects that people put on Kafka, at their ordinary work on three brokers of which one is killed in the middle."""
