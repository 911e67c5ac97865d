"""Syncs of the files of a broker: by the kernel's workers, by one syncfs, or by threads."""
