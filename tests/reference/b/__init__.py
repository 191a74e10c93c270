"""Paper B: online ℓ1 dictionaries and novel documents."""
