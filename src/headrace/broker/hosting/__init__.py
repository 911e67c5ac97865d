"""The hosting of partitions: those that the image gives to this broker are opened, kept in step with it, and closed."""
