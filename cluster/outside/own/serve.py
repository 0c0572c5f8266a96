"""The other end of the pipes: an application in Python reads requests from a stream and writes answers to a stream."""

from collections.abc import Callable, Mapping
from io import FileIO
from typing import Any

from cluster.outside.frames import Framing, Value

_READ_BYTES = 256 * 1024


def serve(
    framing: Framing,
    answer: Callable[[Mapping[str, Any]], Mapping[str, Value]],
    requests: FileIO,
    answers: FileIO,
) -> None:
    """Answer requests until they end, or after `bye`; nothing is read ahead of a request.

    Raises:
        FrameError: A request is no frame.
    """
    buffer = bytearray()
    while True:
        while (ask := framing.take(buffer)) is None:
            content = requests.read(_READ_BYTES)
            if not content:
                return
            buffer += content
        left = memoryview(framing.encode(answer(ask)))
        while left:
            left = left[answers.write(left) or 0 :]
        if ask.get("call") == "bye":
            return
