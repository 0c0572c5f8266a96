"""The common answers of the project's engines: the texts of the state, and transactions."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import msgspec

from checker.tables import describe_key, describe_value
from cluster.fixtures.cases import plain
from cluster.fixtures.scheduler_form import SchedulerAnswer, SchedulerInput, read_input
from cluster.outside.blocks import ROOT_NAMES, ChainStart
from cluster.outside.conversation import COST_US_MAX
from cluster.outside.frames import Framing, Value
from cluster.outside.own.chain import small_genesis, small_transactions
from validators.costs import Costs

Fields = dict[str, Value]
Answer = Callable[[Mapping[str, Any]], Fields]

GENESIS_BYTES_MAX: Final = 64 * 1024 * 1024


class OwnApplication:
    """A life of an engine as an application; a subclass adds its engine's answers to `_calls`.

    Args:
        framing: The form of bytes in a request.
        version: The version that it states.
    """

    def __init__(self, framing: Framing, version: str) -> None:
        self._framing = framing
        self._version = version
        self._hail: Mapping[str, Any] = {}
        self._calls: dict[str, Answer] = {
            "describe": self._describe,
            "transactions": self._make_transactions,
            "bye": lambda _ask: {},
        }

    def answer(self, ask: Mapping[str, Any]) -> Fields:
        """Return the fields of the answer to a request."""
        return {"n": ask["n"], **self._calls[ask["call"]](ask)}

    def _greet(self, hail: Mapping[str, Any], name: str, features: Sequence[str]) -> Fields:
        """Keep the data of `hello`, and return the fields of every answer to it."""
        self._hail = hail
        return {"name": name, "version": self._version, "features": list(features)}

    def _given_genesis(self, ask: Mapping[str, Any]) -> bytes:
        """Return the encoded genesis of the parameters, or of a small chain."""
        given = self._hail["parameters"].get("genesis")
        if given is not None:
            return self._bytes(given)
        start = ChainStart(**{name: ask[name] for name in ChainStart.__dataclass_fields__})
        return msgspec.msgpack.encode(small_genesis(start, self._hail["validators"]))

    def _run_timers(self, ask: Mapping[str, Any], answer: Callable[[SchedulerInput], SchedulerAnswer]) -> Fields:
        """Return the fields of the answer to a case of the timers' phase."""
        try:
            given = read_input(ask["case"])
        except msgspec.ValidationError as error:
            return {"error": f"the case has not the form of level 1: {error}"}
        return {"answer": plain(answer(given))}

    def _loaded_entries(self, ask: Mapping[str, Any]) -> list[tuple[bytes, bytes]]:
        """Return the entries of `load`, which stand in the order of their keys."""
        return [(self._bytes(key), self._bytes(value)) for key, value in ask["entries"]]

    def _describe(self, ask: Mapping[str, Any]) -> Fields:
        key, value = self._bytes(ask["key"]), self._bytes(ask["value"])
        return {"text": f"{describe_key(key)}: {describe_value(value, key)}"}

    def _make_transactions(self, ask: Mapping[str, Any]) -> Fields:
        return {"transactions": list(small_transactions(ask["count"], self._bytes(ask["chance"])))}

    def _header_fields(self, told: Mapping[str, Any]) -> dict[str, Any]:
        """Return the fields of a header; roots that were not told are zero."""
        fields: dict[str, Any] = dict.fromkeys(ROOT_NAMES, bytes(32))
        for name, value in told.items():
            fields[name] = self._bytes(value) if name in {"parent", *ROOT_NAMES} else value
        return fields

    def _cost(self, cost_us: Callable[[Costs], int]) -> Fields:
        """Return the cost of an execution where the parameters have prices."""
        prices = self._hail["parameters"].get("costs")
        if prices is None:
            return {}
        # The price of a block and of its signatures is the validator's own.
        return {"cost_us": min(cost_us(Costs(block_us=0, verify_signature_us=0, **prices)), COST_US_MAX)}

    def _bytes(self, value: object) -> bytes:
        return self._framing.as_bytes(value)
