"""Byzantine validators; what each behaviour does is in `faults.byzantine`."""

from collections.abc import Iterator
from functools import partial
from typing import Annotated, ClassVar

from faults.byzantine.catalogue import BehaviourName, behaviours_of, explain_behaviour, forms_of
from faults.coverage.required import VERIFYING, RequiredPoints
from faults.injection.context import FaultContext
from faults.injection.steps import Edge
from faults.kinds.base import DOWN, FOREVER, Family, Loss, Occupied, Part, Plan, Windowed
from faults.kinds.fields import Positive, Requirement, Validator, distinct, known_messages, means
from network.topology import MILLION


class Byzantine(Windowed, tag="byzantine", kw_only=True, frozen=True):
    """A validator tampers with its messages, with its true key, at each `every`-th occasion; no check covers it.

    At most f validators may be Byzantine, unless one of their faults has `above_f`: then the checks have to find the
    violation.
    """

    counts: ClassVar[str] = "messages forged, changed, added or withheld, for each receiver; for `amnesia` restarts"
    cells: ClassVar[RequiredPoints] = VERIFYING
    family: ClassVar[Family] = "validator"
    reaches: ClassVar[tuple[Part, ...]] = ("power", "disks")
    is_byzantine: ClassVar[bool] = True

    validator: Annotated[
        Validator, means("The Byzantine validator; several faults may give one validator several behaviours.")
    ]
    behaviour: Annotated[BehaviourName, means("The behaviour (docs/byzantine.md).")]
    every: Annotated[Positive, means("The validator acts once in this many occasions.")] = 1
    what: Annotated[str, means("The form of the behaviour.")] = ""
    kinds: Annotated[
        tuple[str, ...], means("With `withhold`, the kinds of messages; left out: votes and certificates.")
    ] = ()
    to: Annotated[tuple[Validator, ...], means("With `withhold`, the receivers that get none; left out: all.")] = ()
    every_ms: Annotated[Positive, means("With `amnesia`, the time between two restarts.")] = 3_000
    above_f: Annotated[bool, means("Allows more than f Byzantine validators in the plan.")] = False

    def targets(self) -> tuple[int, ...]:
        return (self.validator,)

    def occupies(self) -> Occupied | None:
        return DOWN if self.behaviour == "amnesia" else None

    def runs_on_real_disks(self) -> bool:
        """Whether the behaviour needs no new journal."""
        return self.behaviour != "amnesia"

    def exceeds_f(self) -> bool:
        """Whether the fault sets `above_f`."""
        return self.above_f

    def losses(self, nodes: int) -> Iterator[Loss]:
        # A validator that forgets its votes may never vote again.
        stop_ms = FOREVER if self.behaviour == "amnesia" else self.stop_ms
        yield Loss(self.start_ms, stop_ms, off=self.targets(), is_sure=False)

    def lost_views_ppm(self, validators: int) -> int:
        """Return half of the views that it leads."""
        return MILLION // (2 * validators)

    def check(self, plan: Plan) -> Iterator[Requirement]:
        has_vote = self.validator < plan.validators
        yield "validator", has_vote, "an observer has no vote to tamper with; validators alone are Byzantine"
        known = behaviours_of(plan.engine)
        reason = f"an adversary in {plan.engine} knows {', '.join(known) or 'no behaviour'}"
        yield "behaviour", self.behaviour == "amnesia" or self.behaviour in known, reason
        forms = forms_of(plan.engine, self.behaviour, is_foreign=plan.is_foreign)
        is_of_ours = self.what in forms_of(plan.engine, self.behaviour)
        reason = (
            f"{self.what} is about the rules of the project's own chain; with an application " if is_of_ours else ""
        )
        reason += f"{self.behaviour} knows {', '.join(forms) or 'no forms'}"
        yield "what", not self.what or self.what in forms, reason
        is_withholding = self.behaviour == "withhold"
        yield "kinds", is_withholding or not (self.kinds or self.to), "kinds and to belong to the behaviour withhold"
        yield from known_messages(self.kinds, plan.engine, may_be_idle=self.may_be_idle)
        yield distinct("to", self.to)
        yield "to", self.validator not in self.to, "a validator keeps nothing from itself"
        is_known = all(node < plan.replicas for node in self.to)
        yield "to", is_known, f"names an unknown validator; this cluster has 0 to {plan.replicas - 1}"

    def describe(self) -> str:
        return f"{self.when()} validator {self.validator} {explain_behaviour(self.behaviour, self, self.every_ms)}."

    def inject(self, context: FaultContext) -> Iterator[Edge]:
        if self.behaviour == "amnesia":
            for at_ms in range(self.start_ms, self.stop_ms, self.every_ms):
                yield Edge(at_ms, at_ms, "forget", partial(self._forget, context))
            return
        adversary, name = context.machinery.adversaries[self.validator], context.name
        make = behaviours_of(adversary.kind.name)[self.behaviour]
        yield from context.metered_window(
            self.span(),
            lambda: adversary.begin(make(adversary, name, self)),
            partial(adversary.end, name),
            meter=lambda _node: adversary.count(name),
            nodes=self.targets(),
        )

    def _forget(self, context: FaultContext) -> None:
        """Restart the validator without its journal; a validator that is down already forgets nothing now."""
        if context.power.crash(self.validator):
            context.power.forget_votes(self.validator)
            context.power.restart(self.validator)
            context.touch(self.validator)
