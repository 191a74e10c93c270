"""Arrays of numbers of any kind: most of what is coded is whole."""

from typing import Any

from numpy.typing import NDArray

Numbers = NDArray[Any]
