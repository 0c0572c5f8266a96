"""The worker's side of `stampede sweep --dask`: this package puts the test bed's folders on the worker's path.

The request travels as bytes, because a worker can decode it only with these folders on its path.
"""

import pickle
from typing import Any

from stampede_testbed._command import enter_app


def call(packed: bytes) -> bytes:
    """Call a pickled function with its pickled argument and return its pickled result."""
    enter_app()
    function, argument = pickle.loads(packed)  # noqa: S301 - from the sweep, by Dask's own connection, which pickles too
    result: Any = function(argument)
    return pickle.dumps(result)
