"""The lambda loop: once a window, lambda falls where bias outgrows values, and rises where waits are long (Q-51)."""

from collections.abc import Callable

import msgspec

from scheduler.bias import outgrows_values
from scheduler.bias_records import BIAS_BOOKS, BiasBooks, BiasConfig, BiasWindow, window_key
from scheduler.events import BiasWindowClosed
from scheduler.tables import StateTables
from scheduler.types import MAX_U63


def open_books(state: StateTables, config: BiasConfig, activated_at: int) -> BiasBooks:
    """Return the books as a block reads them; their lambda is the block's."""
    start = config.bias_lambda
    books = state.get(BIAS_BOOKS, BIAS_BOOKS.key()) or BiasBooks(start, start, 0, activated_at)
    lambda_ = books.lambda_
    if not config.lambda_window_blocks or books.base_lambda != start:
        lambda_ = start
    within = min(max(lambda_, config.lambda_min), config.lambda_max)
    return msgspec.structs.replace(books, lambda_=within, base_lambda=start)


def close_books(
    state: StateTables,
    books: BiasBooks,
    config: BiasConfig,
    *,
    height: int,
    waits: list[int],
    longest: int,
    next_lambda_of: Callable[[BiasBooks, int], int],
) -> BiasWindowClosed | None:
    """Write the books of a block whose fires waited so many blocks each; return the event of a window that closes.

    `longest` is the wait of the timer that waits longest behind the phase, 0 where none does. `next_lambda_of` returns
    the lambda that follows a window, from its books and worst wait.
    """
    if not config.lambda_window_blocks:
        books = BiasBooks(books.lambda_, books.base_lambda, books.window, height + 1)
        state.set(BIAS_BOOKS.key(), books)
        return None
    books = msgspec.structs.replace(
        books,
        fires=min(books.fires + len(waits), MAX_U63),
        waited=min(books.waited + sum(waits), MAX_U63),
        worst_wait=max(books.worst_wait, *waits, 0),
    )
    if height - books.window_start + 1 < config.lambda_window_blocks:
        state.set(BIAS_BOOKS.key(), books)
        return None
    worst, lambda_ = max(books.worst_wait, longest), books.lambda_
    next_lambda = next_lambda_of(books, worst)
    first, number = books.window_start, books.window
    closed = BiasWindow(first, height, books.fires, books.waited, worst, lambda_, next_lambda)
    state.set(window_key(number), closed)
    state.set(BIAS_BOOKS.key(), BiasBooks(next_lambda, books.base_lambda, number + 1, height + 1))
    return BiasWindowClosed(number, worst, lambda_, next_lambda)


def step(books: BiasBooks, worst: int, config: BiasConfig) -> int:
    """Return the lambda that follows a window: an eighth down, an eighth up, or as it is, within its bounds."""
    mean = books.waited // books.fires if books.fires else 0
    falls = outgrows_values(mean, books.lambda_, config.value_decay)
    return moved(books.lambda_, falls=falls, rises=worst > config.target_wait, config=config)


def moved(lambda_: int, *, falls: bool, rises: bool, config: BiasConfig) -> int:
    """Return lambda an eighth lower, else an eighth higher, or as it is, within its bounds."""
    if falls:
        lambda_ = lambda_ * 7 // 8
    elif rises:
        lambda_ = lambda_ * 9 // 8
    return min(max(lambda_, config.lambda_min), config.lambda_max)
