"""What is counted, and how it is asked for: metrics, health, the loop that stands still."""
