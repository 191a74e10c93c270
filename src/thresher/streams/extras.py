"""Libraries that only some sources need, imported when they are."""

import importlib
from typing import Any


def needed(module: str, extra: str, what: str) -> Any:
    """A module, or a sentence that says how to install it.

    Parameters
    ----------
    module : str
        Its name.
    extra : str
        The extra of this package that has it.
    what : str
        What it is needed for.
    """
    try:
        return importlib.import_module(module)
    except ImportError:
        package = module.partition(".")[0]
        raise ImportError(
            f'{what} needs {package}, which is not installed; pip install "thresher[{extra}]".'
        ) from None
