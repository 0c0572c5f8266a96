"""The workload `scripts`: the steps of each script actor and their times, as stated in the scenario file.

The result of a step (a timer's identifier, say) is kept in the actor's storage under a name. A later step that names it
reads it there. So it is the result of the same branch after every reorganization.
"""

from collections.abc import Iterator
from itertools import chain
from typing import Annotated, Final

import msgspec

from cluster.scenario.fields import EntryName, Milliseconds, NotNegative, Positive, means
from cluster.workloads.steps import DONE, HEX, Names, PlacedScript, StatedScript, stored_names
from cluster.workloads.submission import (
    FEE_MAX,
    FUNDS,
    Client,
    GenesisShare,
    Site,
    TimedTransaction,
    Volume,
    WorkloadKind,
)
from faults.nearest import did_you_mean
from validators.actors import Emitted
from validators.execution import GenesisAccount, GenesisActor
from validators.execution.blocks import ExecuteActor

OWNER: Final = "owner"
"""The account that sends scripts if a scenario names none."""


class ScriptEntry(StatedScript, frozen=True, kw_only=True):
    """A transaction that has an actor run a script."""

    at_ms: Annotated[Milliseconds, means("When it is submitted.")]
    actor: Annotated[str, means("The actor that runs the script, out of `actors`.")]
    sender: Annotated[str, means("The sending account, out of `accounts`; left out: the first.")] = ""
    cycles_limit: Annotated[Positive, means("Cycles that it may use.")] = 100_000
    cells_limit: Annotated[Positive, means("Cells that it may use.")] = 50_000
    max_fee: Annotated[Positive, means("The most that the sender pays, in units per cycle and per cell.")] = FEE_MAX
    tip: Annotated[NotNegative, means("The tip to the proposer, in units per cycle.")] = 1


class Scripts(WorkloadKind, tag="scripts", kw_only=True, frozen=True):
    """Script actors, and the scripts of each with their times. Each script has to complete."""

    actors: Annotated[
        dict[EntryName, NotNegative],
        msgspec.Meta(min_length=1),
        means("The actors by name, with their units at genesis."),
    ]
    accounts: Annotated[
        dict[EntryName, Positive],
        msgspec.Meta(min_length=1),
        means("The accounts by name, with their units at genesis; the first owns the actors."),
    ] = msgspec.field(default_factory=lambda: {OWNER: FUNDS})
    at: Annotated[
        tuple[ScriptEntry, ...], msgspec.Meta(min_length=1), means("The scripts, in the order of their times.")
    ]

    def problem(self, site: Site) -> str:
        """Return the first key that names something unknown, with the reason."""
        for name in self.accounts:
            if name in self.actors:
                return f"accounts: {name!r} is an actor's name already"
        # The entries' names have to exist before their steps are read.
        return next((f"{key}: {reason}" for key, reason in chain(self._wrong_entries(), self._wrong_steps(site))), "")

    def _wrong_entries(self) -> Iterator[tuple[str, str]]:
        at_ms = 0
        for index, entry in enumerate(self.at):
            place = f"at[{index}]"
            if entry.at_ms < at_ms:
                yield f"{place}.at_ms", f"{entry.at_ms} is before the entry above it, which is at {at_ms}"
            at_ms = entry.at_ms
            for key, name, known in (("actor", entry.actor, self.actors), ("sender", entry.sender, self.accounts)):
                if name not in known and (name or key == "actor"):
                    yield (
                        f"{place}.{key}",
                        f"no {key} is named {name!r}{did_you_mean(name, known)}; there are {', '.join(known)}",
                    )

    def _wrong_steps(self, site: Site) -> Iterator[tuple[str, str]]:
        names = self.names(site)
        for each in self.scripts():
            for place, step in each.steps():
                yield from ((f"{place}.{key}", reason) for key, reason in step.problems(names))
        for place, name, stored in self._reads():
            if name not in stored and not name.startswith(HEX):
                there = f"there are {', '.join(dict.fromkeys(stored))}" if stored else "nothing is stored by then"
                yield place, f"no step before stores {name!r}{did_you_mean(name, stored)}; {there}"

    def _reads(self) -> Iterator[tuple[str, str, list[str]]]:
        """Yield place and name of each result that a step reads, with the names that its actor may have stored."""
        every, before = [*self.scripts()], list[PlacedScript]()
        for entry, *later in self._entries():
            stored = [*stored_names(before, entry.actor)]
            for place, step in entry.steps():
                yield from ((f"{place}.{key}", getattr(step, key), stored) for key in step.reads)
                stored += [getattr(step, key) for key in step.stores]
            for each in later:
                # It runs later than its entry: any entry may have run by then.
                stored = [*stored_names(every, each.actor)]
                for place, step in each.steps() if each.actor in self.actors else ():
                    yield from ((f"{place}.{key}", getattr(step, key), stored) for key in step.reads)
            before += [entry, *later]

    def firing_actors(self, site: Site) -> tuple[bytes, ...]:
        """Return the addresses of all its actors."""
        return tuple(site.actor(index) for index in range(len(self.actors)))

    def volume(self, slots: int) -> Volume:
        """Return its submissions and timers."""
        del slots
        stated = [step for each in self.scripts() for step in each.script.steps]
        return Volume(len(self.at), sum("name" in step.stores for step in stated))

    def genesis(self, site: Site) -> GenesisShare:
        """Return the accounts, and the actors of the first account."""
        clients = self._clients(site)
        owner = clients[next(iter(self.accounts))].address
        accounts = tuple(GenesisAccount(clients[name].address, units) for name, units in self.accounts.items())
        actors = tuple(
            GenesisActor(site.actor(index), "script-actor", owner, units)
            for index, units in enumerate(self.actors.values())
        )
        return GenesisShare(accounts, actors)

    def transactions(self, site: Site) -> Iterator[TimedTransaction]:
        """Yield one transaction for each entry."""
        clients, names = self._clients(site), self.names(site)
        for index, entry in enumerate(self.at):
            script = entry.encoded(names, f"at[{index}]")
            yield clients[entry.sender or next(iter(self.accounts))].sign(
                entry.at_ms,
                ExecuteActor(names.known[entry.actor], "run", script),
                cycles_limit=entry.cycles_limit,
                cells_limit=entry.cells_limit,
                fee_max=entry.max_fee,
                may_fail=entry.may_be_idle,
                change={"priority_fee_per_cycle": entry.tip},
            )

    def required_events(self, site: Site) -> tuple[Emitted, ...]:
        """Return the event at the end of each script."""
        names = self.names(site)
        return tuple(
            Emitted(names.address(each.actor), DONE, each.place.encode()) for each in self.scripts() if each.is_told
        )

    def scripts(self) -> Iterator[PlacedScript]:
        """Yield every script, including nested scripts."""
        return chain.from_iterable(self._entries())

    def _entries(self) -> Iterator[list[PlacedScript]]:
        """Yield the script of each entry with its nested scripts."""
        for index, entry in enumerate(self.at):
            yield [*PlacedScript(entry, f"at[{index}]", entry.actor, not entry.may_be_idle).all()]

    def names(self, site: Site) -> Names:
        """Return the addresses that a script may name."""
        known = {name: site.actor(index) for index, name in enumerate(self.actors)}
        known |= {name: client.address for name, client in self._clients(site).items()}
        return Names(known, site)

    def _clients(self, site: Site) -> dict[str, Client]:
        return {name: Client(site, index) for index, name in enumerate(self.accounts)}
