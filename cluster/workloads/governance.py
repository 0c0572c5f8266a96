"""The workload `governance`: system instructions at their times."""

from collections.abc import Iterator
from typing import Annotated, Final

import msgspec

from cluster.workloads.storms import Storm
from cluster.workloads.submission import (
    Client,
    GenesisShare,
    Milliseconds,
    NotNegative,
    Positive,
    Site,
    TimedTransaction,
    Volume,
    WorkloadKind,
)
from faults.nearest import did_you_mean
from scheduler import InvalidInput, TimerConfig, decode_update
from validators.execution import SystemCancelTimer, SystemExtendTimer, SystemUpdateTimerConfig
from validators.execution.blocks import SystemInstruction

INSTRUCTION_CYCLES: Final = 5_000
"""Cycles that a system deployer allows for one instruction."""


class Action(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="do", kw_only=True):
    """Something that the validator set does at a time."""

    at_ms: Milliseconds


class Configure(Action, tag="configure", kw_only=True, frozen=True, forbid_unknown_fields=True):
    """Replace the timer configuration: the keys of ``set`` change, the others stay as the action before left them."""

    set: Annotated[dict[str, int | bool], msgspec.Meta(min_length=1)]


class Govern(Action, tag="govern", kw_only=True, frozen=True, forbid_unknown_fields=True):
    """Change parameters by their governance keys, those of ``set`` (docs/spec.md, governance)."""

    set: Annotated[dict[str, int | bool | str | list[int]], msgspec.Meta(min_length=1)]

    @property
    def encoded(self) -> bytes:
        """What instruction 49 carries: the keys in ascending order."""
        return msgspec.msgpack.encode({key: self.set[key] for key in sorted(self.set, key=str.encode)})


class CancelTimers(Action, tag="cancel", kw_only=True, frozen=True, forbid_unknown_fields=True):
    """Cancel ``count`` timers of an actor of a storm, from the ``first`` one on."""

    workload: str
    actor: NotNegative = 0
    first: NotNegative = 0
    count: Positive = 1


class ExtendTimers(Action, tag="extend", kw_only=True, frozen=True, forbid_unknown_fields=True):
    """Move the expiry of ``count`` timers of an actor of a storm to ``expires_at``, a slot or height."""

    workload: str
    actor: NotNegative = 0
    first: NotNegative = 0
    count: Positive = 1
    expires_at: Positive


class Governance(WorkloadKind, tag="governance", kw_only=True, frozen=True, forbid_unknown_fields=True):
    """Timed system instructions; one that is no deployer (``is_deployer``) has them all refused."""

    actions: Annotated[tuple[Configure | Govern | CancelTimers | ExtendTimers, ...], msgspec.Meta(min_length=1)]
    is_deployer: bool = True

    def problem(self, site: Site) -> str:
        """Say which action cannot be meant."""
        config, lane, at_ms = site.config, site.lane, 0
        for index, action in enumerate(self.actions):
            place = f"actions[{index}]"
            if action.at_ms < at_ms:
                return f"{place}.at_ms: {action.at_ms} is before the action above it, at {at_ms}"
            at_ms = action.at_ms
            if isinstance(action, Configure):
                try:
                    config = _changed(config, action)
                except (msgspec.ValidationError, InvalidInput) as error:
                    return f"{place}.set: {error}; there are {', '.join(TimerConfig.__struct_fields__)}"
            elif isinstance(action, Govern):
                try:
                    config, lane = decode_update(action.encoded, config, lane)
                except InvalidInput as error:
                    return f"{place}.set: {error}"
            else:
                reason = _storm_problem(action, site)
                if reason:
                    return f"{place}: {reason}"
        return ""

    def volume(self, slots: int) -> Volume:
        """Its submissions and timers over so many slots."""
        del slots
        return Volume(sum(getattr(action, "count", 1) for action in self.actions))

    def genesis(self, site: Site) -> GenesisShare:
        """The account, which genesis names as a system deployer unless it is to be refused."""
        client = Client(site)
        return GenesisShare((client.funded,), (), (client.address,) if self.is_deployer else ())

    def transactions(self, site: Site) -> Iterator[TimedTransaction]:
        """One transaction for each instruction."""
        client, config, lane = Client(site), site.config, site.lane
        for action in self.actions:
            if isinstance(action, Configure):
                config = _changed(config, action)
            elif isinstance(action, Govern):
                config, lane = decode_update(action.encoded, config, lane)
            for instruction in _instructions(action, config, site):
                yield client.sign(action.at_ms, instruction, cycles_limit=INSTRUCTION_CYCLES)


def _instructions(action: Action, config: TimerConfig, site: Site) -> Iterator[SystemInstruction]:
    if isinstance(action, Govern):
        yield SystemUpdateTimerConfig(action.encoded)
        return
    if isinstance(action, CancelTimers | ExtendTimers):
        storm = site.workloads[action.workload]
        assert isinstance(storm, Storm), "a scenario is checked before it runs"
        for timer_id in storm.timer_ids(site.at(action.workload), action.actor, action.first, action.count):
            if isinstance(action, CancelTimers):
                yield SystemCancelTimer(timer_id)
            else:
                yield SystemExtendTimer(timer_id, action.expires_at)
    else:
        yield SystemUpdateTimerConfig(msgspec.msgpack.encode(config))


def _changed(config: TimerConfig, action: Configure) -> TimerConfig:
    """Return a configuration with some keys changed; raises ValidationError or InvalidInput."""
    for key in action.set:
        if key not in TimerConfig.__struct_fields__:
            raise InvalidInput(key, f"no such key{did_you_mean(key, TimerConfig.__struct_fields__)}")
    fields = msgspec.structs.asdict(config) | action.set
    return msgspec.convert(list(fields.values()), TimerConfig)


def _storm_problem(action: CancelTimers | ExtendTimers, site: Site) -> str:
    storm = site.workloads.get(action.workload)
    if not isinstance(storm, Storm):
        storms = [name for name, workload in site.workloads.items() if isinstance(workload, Storm)]
        named = f"{action.workload!r}{did_you_mean(action.workload, storms)}"
        return f"no storm is named {named}; there are {', '.join(storms) or 'none'}"
    if action.actor >= storm.actors:
        return f"actor {action.actor} is not there; {action.workload} has 0 to {storm.actors - 1}"
    if action.first + action.count > storm.timers_per_actor:
        return f"actors of {action.workload} have {storm.timers_per_actor} timers each"
    return ""
