"""Work, timers and events of kinds that a validator does not know: it halts with the value, and guesses nothing."""

import pytest

from validators.node import Validator


@pytest.mark.parametrize(
    ("handle", "given", "told"),
    [
        (Validator._handle_work, "token", "unreachable, but got: 'token'"),
        (Validator._handle_timer, ("regossips", 3), r"a timer of an unknown kind is due: \('regossips', 3\)"),
    ],
)
def test_an_unknown_token_or_timer_is_refused_with_its_value(handle, given, told):
    with pytest.raises((AssertionError, ValueError), match=told):
        handle(None, given, None)
