"""Interrupts, held back where one that comes would be lost, or would hit the wrong process."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Final

import msgspec

INTERRUPTS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Signals that the command line takes as interrupts."""

_read: dict[type[msgspec.Struct], None] = {}


@contextmanager
def interrupts_held(*signals: signal.Signals) -> Iterator[None]:
    """Hold signals back, for this process and those that it starts meanwhile, which never take any."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def interrupts_noted(note: Callable[[], None]) -> Iterator[bool]:
    """Have the first interrupt noted instead of raised; the second one is raised as ever.

    Yields whether interrupts are noted: not where another handler stands, nor in a thread that can set none.
    """

    def take(*_: object) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        note()

    is_taken = False
    with suppress(ValueError):
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, take)
            is_taken = True
    if not is_taken:
        yield False
        return
    try:
        yield True
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def came_of_interrupt(error: BaseException | None) -> bool:
    """Return whether an error is an interrupt, or was raised by a clean-up that an interrupt had cut short.

    A lock that is taken again after a wait (`threading.Condition`) is the known one: an interrupt in between makes
    its release fail.
    """
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None


def read_record_types() -> None:
    """Let msgspec read the types of all records that there are, before a run decodes any.

    It reads a type when it first decodes one, by Python code whose errors it passes over, and an interrupt is one.
    """
    with interrupts_held(*INTERRUPTS):
        for kind in _kinds_of(msgspec.Struct):
            if kind not in _read:
                _read[kind] = None
                # Some are only made and written.
                with suppress(TypeError):
                    msgspec.msgpack.Decoder(kind)


def _kinds_of(kind: type[msgspec.Struct]) -> Iterator[type[msgspec.Struct]]:
    for below in kind.__subclasses__():
        yield below
        yield from _kinds_of(below)
