"""Settings for every test: hypothesis without deadlines (compilation takes its time once)."""

from hypothesis import settings

settings.register_profile("thresher", deadline=None, max_examples=25, derandomize=True)
settings.load_profile("thresher")
