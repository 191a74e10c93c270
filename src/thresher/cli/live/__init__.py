"""The live page: a run shown in a browser while it goes on.

``board.py`` is between the learner and those who read: the learner leaves word there and never
waits. ``guard.py`` says who may come in, ``app.py`` and ``server.py`` serve them, ``page.py`` is
what they get. ``watcher.py`` is the callback; what it shows of a model, a video or documents is in
``shows/``.
"""
