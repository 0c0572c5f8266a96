"""The other end of `stampede sweep --dask`: a worker finds this package, and by it the folders of the test bed.

What is asked for travels as bytes, which a worker decodes after it has found the folders.
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
