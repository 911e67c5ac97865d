"""The configuration file, and the settings of running brokers."""
