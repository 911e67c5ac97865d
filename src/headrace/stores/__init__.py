"""Adapters of `cluster.store.MetaStore`. One contract test holds for all of them."""
