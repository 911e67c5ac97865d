"""Real Kafka clients behind one small interface (see client.py), so that a test says once what all of them must see."""
