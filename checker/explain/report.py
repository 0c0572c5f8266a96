"""The failure report: the failure, its block, the wrong side, the write, the cause, and the earlier events."""

from collections.abc import Sequence
from typing import Final

import msgspec

from checker.explain.cause import cause_of
from checker.explain.chain_of_events import Mention, chain_lines, follow, mentions_of, read_taken_back, surroundings
from checker.explain.divergence import Divergence, find_divergence
from checker.explain.evidence import last_views
from checker.explain.executions import ExecutionGroup
from checker.explain.explanation import Explanation, Findings, KeyReport, SideReport
from checker.explain.formatting import name_key, show_entry, show_fields, show_root, show_written
from checker.explain.orders import orders_of
from checker.explain.origins import Origin
from checker.explain.reading import digest_in, events_of
from checker.explain.same_states import explain_same_states
from checker.explain.stalls import find_stalls
from checker.explain.writes import origin_of
from checker.families import FAMILY_OF, title_of
from checker.observations import name_validators, short
from checker.record.errors import on_one_line
from checker.results import PLUGINS, Evidence
from checker.tables import FEE_MARKET_KEY
from scheduler import Timer, TimerScheduled

KEYS_MAX: Final = 8
"""Greatest number of differing keys shown."""


def explain(findings: Findings) -> Explanation:
    """Return the report of a run's decisive failure."""
    explanation = _of_checks(findings)
    fork = findings.executions.first_fork()
    named = _blocks_of(findings)
    divergence = find_divergence(findings.executions, findings.genesis, findings.timebase, named)
    if fork is not None and (divergence is None or _is_before(fork, divergence)):
        return _with_fork(explanation, findings, fork)
    if divergence is not None:
        return _with_divergence(explanation, findings, divergence)
    return explain_same_states(explanation, findings)


def _is_before(fork: int, divergence: Divergence) -> bool:
    """Whether a fork is a better explanation than a divergence: its height is lower, or only the oracle diverges there.

    A validator with another state refuses blocks on its peers' state, and under the longest chain finalizes its own
    branch. So a divergence between validators can cause a fork at the same height.
    """
    height = divergence.header.height
    return fork < height or (fork == height and len(divergence.groups) == 1)


def _blocks_of(findings: Findings) -> list[bytes]:
    """Return the digests of the blocks that failed checks name."""
    named = [digest_in(dict(check.evidence).get("block")) for check in findings.checks if check.status == "failed"]
    return [digest for digest in named if digest]


def _of_checks(findings: Findings) -> Explanation:
    checks, first = findings.checks, findings.decisive
    if first is None:
        return Explanation(check="", summary="every check passed", evidence={}, also=[])
    # An exception of a plug-in is no failure by itself, and the likely cause of a failure.
    further = [
        check for check in checks if check is not first and (check.status == first.status or check.name == PLUGINS)
    ]
    evidence = dict(first.evidence)
    key = digest_in(evidence.get("key"))
    notes = [f"{evidence['key']} is {name_key(key)}"] if key else []
    also = [on_one_line(f"{title_of(check)}: {check.summary}") for check in further]
    explanation = Explanation(
        check=on_one_line(first.name),
        summary=on_one_line(first.summary),
        evidence=evidence,
        also=also,
        notes=notes,
        views=last_views(findings.events(), findings.view_word) if first.exit_class == "liveness" else [],
        family=FAMILY_OF.get(first.name, first.name),
        is_foreign=not findings.has_tables,
    )
    return _with_stalls(explanation, findings) if explanation.family == "liveness" else explanation


def _with_stalls(explanation: Explanation, findings: Findings) -> Explanation:
    """Add the replicas without new finality, if the check names no replica or one of these replicas."""
    found = find_stalls(findings.events(), findings.view_word)
    named = explanation.evidence.get("validator")
    stalls = [stall for stall in found.stalls if named in (None, stall.validator)]
    if not stalls:
        return explanation
    return msgspec.structs.replace(
        explanation, stalls=found.stalls, replicas=found.replicas, end_us=found.end_us, left_over=found.left_over
    )


def _with_fork(explanation: Explanation, findings: Findings, height: int) -> Explanation:
    """Add a fork: two blocks are final at the same height, so the cause is the input."""
    sides, executions = [], findings.executions
    for digest, validators in executions.final[height].items():
        block = executions.blocks.get(digest)
        who = name_validators(validators)
        root = "" if block is None else block.block.header.state_root.hex()
        sides.append(SideReport(who=who, validators=validators, root=root, block=digest.hex()))
    evidence: dict[str, Evidence] = {"height": height}
    return msgspec.structs.replace(
        explanation,
        cause="input",
        height=height,
        sides=sides,
        chain=surroundings(findings.events(), evidence),
    )


def _with_divergence(explanation: Explanation, findings: Findings, divergence: Divergence) -> Explanation:
    origin = origin_of(divergence)
    timer_id = origin.timer or next(filter(None, map(divergence.timer_of_key, divergence.keys)), b"")
    # Entries of the receipt's timer come first, then entries of its actor.
    owner = origin.account or origin.actor
    keys = sorted(
        divergence.keys, key=lambda key: (divergence.timer_of_key(key) != timer_id, owner not in key or not owner)
    )
    mentions = mentions_of(divergence, timer_id)
    thread = follow(
        findings.events(),
        divergence,
        [origin.transaction, *(mention.transaction for mention in mentions)],
        [mention.past.digest for mention in mentions if mention.past is not None],
    )
    thread.view_word = findings.view_word
    wrong = divergence.wrong_validators
    taken_back = any(read_taken_back(event) for node in wrong for event in thread.pasts.get(node, ()))
    has_past = taken_back or any(node in thread.strayed for node in wrong)
    is_from_the_past = has_past and _is_right_when_cold(findings, divergence)
    header = divergence.header
    timer = divergence.timer(timer_id) if timer_id else None
    cause = cause_of(divergence, is_from_the_past=is_from_the_past)
    return msgspec.structs.replace(
        explanation,
        cause=cause,
        orders=orders_of(divergence) if cause == "order" else [],
        height=header.height,
        view=header.view if header.height else None,
        block=divergence.digest.hex(),
        leader=header.proposer if header.height else None,
        sides=[_report_group(group) for group in divergence.groups],
        keys=[_report_key(divergence, key) for key in keys[:KEYS_MAX]],
        keys_differing=len(keys),
        write=_describe_write(divergence, origin),
        origin=origin.what,
        told=list(origin.reported),
        receipt=None if origin.receipt < 0 else origin.receipt,
        transaction=origin.transaction.hex(),
        timer=timer_id.hex(),
        timer_record=_record_of(timer, mentions) or _scheduled_in(divergence, timer_id),
        actor=origin.actor.hex(),
        handler=origin.handler,
        chain=chain_lines(divergence, origin, mentions, thread, keys=keys),
        notes=[
            *explanation.notes,
            *_prices(divergence, origin),
            *_notes(divergence, is_from_the_past=is_from_the_past),
        ],
    )


def _record_of(timer: Timer | None, mentions: Sequence[Mention]) -> str:
    """Return a timer's record; for an exited timer, the last receipt about it."""
    if timer is not None:
        return show_fields(timer)
    return f"no longer in the state; last receipt: {mentions[-1].line}" if mentions else ""


def _scheduled_in(divergence: Divergence, timer_id: bytes) -> str:
    """Return the scheduling event of a timer that this block schedules; empty for other timers."""
    receipts = (receipt for group in divergence.groups for receipt in group.outcome.receipts)
    events = (event for receipt in receipts for event in events_of(receipt))
    scheduled = (each for each in events if isinstance(each, TimerScheduled) and each.timer_id == timer_id)
    return next((f"scheduled in this block: {show_fields(each)}" for each in scheduled), "")


def _is_right_when_cold(findings: Findings, divergence: Divergence) -> bool:
    """Return whether a wrong validator's code reaches the right outcome from the blocks alone.

    A third outcome shows an input that is in no block, for example a clock.
    """
    firsts = [group.validators[0] for group in divergence.groups[1:] if group.validators]
    outcomes = (findings.replay(node, divergence) for node in firsts)
    return any(outcome is not None and outcome.is_that_of_the_oracle(divergence.right) for outcome in outcomes)


def _report_group(group: ExecutionGroup) -> SideReport:
    return SideReport(
        who=group.name, validators=group.validators, has_oracle=group.has_oracle, root=show_root(group.outcome)
    )


def _report_key(divergence: Divergence, key: bytes) -> KeyReport:
    return KeyReport(
        key=key.hex(),
        name=name_key(key, divergence.values(key)),
        timer=divergence.timer_of_key(key).hex(),
        before=show_entry(key, divergence.before.get(key)),
        values=list(divergence.in_each(lambda outcome: show_written(outcome, key))),
    )


def _describe_write(divergence: Divergence, origin: Origin) -> str:
    if not origin.reported:
        return origin.what
    reported = origin.reported[:2]
    said = (
        reported[0]
        if len(dict.fromkeys(reported)) == 1
        else f"{reported[0]}; {divergence.groups[1].name}: {reported[1]}"
    )
    if origin.receipt < 0:
        return f"{origin.what}: {said}"
    call = f"{origin.what}: " if origin.transaction else ""
    further = f" (one of {origin.more + 1} receipts that touch the key)" if origin.more else ""
    return f"receipt {origin.receipt}: {call}{said}{further}"


def _prices(divergence: Divergence, origin: Origin) -> list[str]:
    """Return a line with the prices of the block, if the write burned units at these prices."""
    is_priced = any("burned=" in reported for reported in origin.reported)
    prices = divergence.before.get(FEE_MARKET_KEY)
    lane_price = divergence.right.counts.get("lane_price", 0)
    of_lane = f" lane_price={lane_price}" if lane_price else ""
    return [f"prices of the block: {show_entry(FEE_MARKET_KEY, prices)}{of_lane}"] if is_priced and prices else []


def _notes(divergence: Divergence, *, is_from_the_past: bool) -> list[str]:
    notes = []
    if divergence.refusal:
        notes.append(f"the oracle refuses block {short(divergence.digest)}: {divergence.refusal}")
    if is_from_the_past:
        notes.append("a fresh engine with the same code reaches the right outcome from the blocks alone")
    right, wrong = divergence.right, divergence.wrong
    is_same_content = right.receipts == wrong.receipts and not divergence.keys
    if len(divergence.groups) > 1 and is_same_content and not wrong.broken:
        verb = "are equal" if right.operations == wrong.operations else "differ"
        notes.append(f"receipts and values are equal on all sides, the operations of the log {verb}")
    return notes
