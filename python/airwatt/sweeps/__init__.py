"""Sweeps: many runs over a grid of settings, kept in a store as they finish.

`grid` says which points there are, `plan` checks them and gives each its key, `runner` runs what the `store` does not
have, `cluster` does so on a Dask cluster, and `frames` reads the store as tables.
"""
