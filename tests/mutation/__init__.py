"""Small slips made in a copy of the library, to learn which of them the tests notice.

`slips` makes them, `draw` picks some at random, `choice` knows which tests run a line, `trial` runs
those tests on a copy, and `tests/mutants.py` is the command.
"""
