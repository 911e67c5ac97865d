"""Spark itself: Java, a session and a cluster from the pip package, and the format in a session made without us."""
