"""Following leaders, and changes of in-sync sets: fetchers, proposals, copies that are in doubt."""
