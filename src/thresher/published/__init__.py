"""Reproductions of published methods that are not the library's own choice."""
