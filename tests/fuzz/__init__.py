"""Fuzzing: families of random cases, each checked against an oracle, run under limits.

A family is a function ``name(rng) -> str`` in a module of this package that lists it in
``FAMILIES``. It runs one case and returns its outcome in a word: "right" if the result was checked,
"refused" if the library refused with a sentence. What is wrong raises `AssertionError`; any other
exception is a crash. `fuzz.harness` finds the families, runs them and counts.
"""
