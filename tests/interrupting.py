"""A fit that is interrupted, for tests of what remains of it."""


class Interrupt:
    """A callback that presses Ctrl-C after some steps."""

    def __init__(self, after):
        self.left = after

    def __call__(self, step):
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt
