"""The workload `subscriptions`."""

from collections.abc import Iterator
from typing import Annotated, ClassVar

from cluster.scenario.fields import Million, Milliseconds, Positive, Thousand, means
from cluster.workloads.submission import FUNDS, Client, GenesisShare, Site, TimedTransaction, Volume, WorkloadKind
from validators.actors import PlanOrder
from validators.execution import GenesisActor
from validators.execution.blocks import Transfer


class Subscriptions(WorkloadKind, tag="subscriptions", kw_only=True, frozen=True):
    """Subscriptions that pay one merchant until their funds run out, and message it each time."""

    is_recurring: ClassVar[bool] = True

    subscriptions: Annotated[Thousand, means("Subscriptions, each with an owner.")]
    price: Annotated[Positive, means("Units of each payment.")] = 1_000_000
    interval_slots: Annotated[Million, means("Each subscription pays once in this many slots.")] = 2
    gas_limit: Annotated[Positive, means("Cycles that a fire may use.")] = 20_000
    funds: Annotated[Positive, means("Units that each subscription has to pay with.")] = FUNDS
    start_ms: Annotated[Milliseconds, means("When the owners subscribe.")] = 0
    again_ms: Annotated[
        Milliseconds | None,
        means("When each subscription is given its funds once more and starts anew.", left_out="never"),
    ] = None

    def problem(self, site: Site) -> str:
        """Return the first contradiction among the keys; empty if there is none."""
        del site
        if self.again_ms is not None and self.again_ms <= self.start_ms:
            return f"again_ms must be after start_ms, which is {self.start_ms}"
        return ""

    def volume(self, slots: int) -> Volume:
        """Return its submissions and timers."""
        return Volume(3 * self.subscriptions, self.subscriptions * (1 + slots // self.interval_slots))

    def first_due(self, slot_ms: int) -> int:
        """Return the first slot in which one of its timers is due."""
        return self.start_ms // slot_ms + self.interval_slots

    def genesis(self, site: Site) -> GenesisShare:
        """Return an owner for each subscription, the subscriptions with their funds, and the merchant."""
        share = site.owned_actors("subscription", self.subscriptions, self.funds)
        merchant = GenesisActor(self._merchant(site), "merchant", share.actors[0].owner)
        return GenesisShare(share.accounts, (*share.actors, merchant))

    def transactions(self, site: Site) -> Iterator[TimedTransaction]:
        """Yield each owner's subscription, and its renewal if there is one."""
        order = PlanOrder(self._merchant(site), self.price, self.interval_slots, self.gas_limit)
        for index in range(self.subscriptions):
            owner, actor = Client(site, index), site.actor(index)
            yield owner.order(self.start_ms, actor, "subscribe", order)
            if self.again_ms is not None:
                yield owner.sign(self.again_ms, Transfer(actor, self.funds))
                yield owner.order(self.again_ms, actor, "subscribe", order)

    def _merchant(self, site: Site) -> bytes:
        return site.actor(0, f"{site.name}/merchant")
