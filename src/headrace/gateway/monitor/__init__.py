"""Watching the cluster: brokers' metrics scraped and kept for a while, lag of groups, alerts, and metrics of our own."""
