"""The simulator: parts that stand in for the world around a broker, seeded, so that every failure can be replayed."""
