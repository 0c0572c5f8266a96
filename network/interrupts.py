"""Interrupts, held back where an interrupt would be lost, or would hit the wrong process."""

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
    """Hold signals back, for this process and for processes that it starts meanwhile, which never receive any."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def interrupts_noted(note: Callable[[], None]) -> Iterator[bool]:
    """Note the first interrupt instead of raising it; the second interrupt is raised as usual.

    Yields whether interrupts are noted: not if another handler is set, nor in a thread that can set none.
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

    The known clean-up is a lock that is taken again after a wait (`threading.Condition`): an interrupt in between makes
    its release fail.
    """
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None


def read_record_types() -> None:
    """Let msgspec read the types of all existing records, before a run decodes any.

    msgspec reads a type at the type's first use, by Python code that ignores errors, and an interrupt is an error.
    """
    with interrupts_held(*INTERRUPTS):
        for kind in _kinds_of(msgspec.Struct):
            if kind not in _read:
                _read[kind] = None
                # Some types are only encoded.
                with suppress(TypeError):
                    msgspec.msgpack.Decoder(kind)


def _kinds_of(kind: type[msgspec.Struct]) -> Iterator[type[msgspec.Struct]]:
    for below in kind.__subclasses__():
        yield below
        yield from _kinds_of(below)
