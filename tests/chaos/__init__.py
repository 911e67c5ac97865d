"""Real processes under kill -9, full disks and damaged files, judged by a ledger of acknowledgements."""
