"""The failure report: what went wrong, where, on whose side, by which write, why, and how it came to that."""

from collections.abc import Sequence
from string import hexdigits
from typing import Final

import msgspec

from checker.checks.observations import short
from checker.explain.cause import Circumstances, cause_of
from checker.explain.elsewhere import explain_elsewhere
from checker.explain.explanation import Explanation, Findings, KeyReport, SideReport
from checker.explain.formatting import (
    differing_keys,
    name_key,
    on_one_line,
    show_entry,
    show_fields,
    show_root,
    show_written,
    timer_of_key,
)
from checker.explain.origins import Origin
from checker.explain.seen import last_views
from checker.explain.sides import Outcome, Parting, Side, find_parting, wrong_validators
from checker.explain.story import Mention, follow, mentions_of, read_taken_back, surroundings, tell
from checker.explain.writes import find_timer, origin_of
from checker.results import Evidence
from scheduler import Timer
from validators.execution.schema import KEY_BYTES

KEYS_MAX: Final = 8
"""Keys shown of those that differ."""


def _is_digest(text: str) -> bool:
    return len(text) == 2 * KEY_BYTES and set(text) <= set(hexdigits)


def explain(findings: Findings) -> Explanation:
    """Return what went wrong first, and why."""
    explanation = _of_checks(findings)
    fork = findings.executions.first_fork()
    named = _blocks_of(findings)
    parting = find_parting(findings.executions, findings.genesis, findings.timebase, named)
    if fork is not None and (parting is None or fork <= parting.header.height):
        return _with_fork(explanation, findings, fork)
    if parting is not None:
        return _with_parting(explanation, findings, parting)
    return explain_elsewhere(explanation, findings)


def _blocks_of(findings: Findings) -> list[bytes]:
    """Return the digests of the blocks that failed checks name."""
    named = [dict(check.evidence).get("block") for check in findings.checks if check.status == "failed"]
    return [bytes.fromhex(block) for block in named if isinstance(block, str) and _is_digest(block)]


def _of_checks(findings: Findings) -> Explanation:
    checks, first = findings.checks, findings.decisive
    if first is None:
        return Explanation(check="", summary="every check passed", evidence={}, also=[])
    others = [check for check in checks if check.status == first.status and check is not first]
    evidence = dict(first.evidence)
    key = evidence.get("key")
    notes = [f"{key} is {name_key(bytes.fromhex(key))}"] if isinstance(key, str) and _is_digest(key) else []
    also = [on_one_line(f"{check.name}: {check.summary}") for check in others]
    return Explanation(
        check=on_one_line(first.name),
        summary=on_one_line(first.summary),
        evidence=evidence,
        also=also,
        notes=notes,
        views=last_views(findings.events()) if first.exit_class == "liveness" else [],
    )


def _with_fork(explanation: Explanation, findings: Findings, height: int) -> Explanation:
    """Several blocks are final at one height: whatever states came of them, the input was not the same."""
    sides, executions = [], findings.executions
    for digest, validators in executions.final[height].items():
        block = executions.blocks.get(digest)
        who = Side(Outcome((), b"", (), {}, ()), validators).name
        root = "" if block is None else block.block.header.state_root.hex()
        sides.append(SideReport(who=who, validators=validators, has_oracle=False, root=root, block=digest.hex()))
    evidence: dict[str, Evidence] = {"height": height}
    return msgspec.structs.replace(
        explanation,
        cause="input",
        height=height,
        sides=sides,
        chain=surroundings(findings.events(), evidence),
    )


def _with_parting(explanation: Explanation, findings: Findings, parting: Parting) -> Explanation:
    origin = origin_of(parting)
    keys = differing_keys(parting.right, parting.wrong, parting.before)
    timer_id = origin.timer or _first_timer(parting, keys)
    # What the receipt names comes first: its timer's own entries, then its actor's.
    owner = origin.account or origin.actor
    keys.sort(key=lambda key: (_timer_of(parting, key) != timer_id, not owner or owner not in key))
    mentions = mentions_of(parting, timer_id)
    thread = follow(
        findings.events(),
        parting,
        [origin.transaction, *(mention.transaction for mention in mentions)],
        [mention.past.digest for mention in mentions if mention.past is not None],
    )
    wrong = wrong_validators(parting.sides)
    taken_back = any(read_taken_back(event) for node in wrong for event in thread.pasts.get(node, ()))
    has_past = taken_back or any(node in thread.strayed for node in wrong)
    is_from_the_past = has_past and not _repeats_cold(findings, parting)
    header = parting.header
    cause = cause_of(parting.right, parting.wrong, Circumstances(parting.before, parting.now, is_from_the_past))
    timer = find_timer(parting, timer_id) if timer_id else None
    return msgspec.structs.replace(
        explanation,
        cause="input" if parting.refusal else cause,
        height=header.height,
        view=header.view if header.height else None,
        block=parting.digest.hex(),
        leader=header.proposer if header.height else None,
        sides=[_report_side(side) for side in parting.sides],
        keys=[_report_key(parting, key) for key in keys[:KEYS_MAX]],
        keys_differing=len(keys),
        write=_describe_write(parting, origin),
        receipt=None if origin.receipt < 0 else origin.receipt,
        transaction=origin.transaction.hex(),
        timer=timer_id.hex(),
        timer_record=_record_of(timer, mentions),
        actor=origin.actor.hex(),
        handler=origin.handler,
        chain=tell(parting, origin, mentions, thread, keys),
        notes=[*explanation.notes, *_notes(parting, is_from_the_past=is_from_the_past)],
    )


def _record_of(timer: Timer | None, mentions: Sequence[Mention]) -> str:
    """Return a timer's record, or of one that is there no more what was told of it last."""
    if timer is not None:
        return show_fields(timer)
    return f"there no more since {mentions[-1].line}" if mentions else ""


def _repeats_cold(findings: Findings, parting: Parting) -> bool:
    """Whether the code of a wrong validator comes to its outcome again, with nothing behind it but the blocks."""
    for side in parting.sides[1:]:
        for node in side.validators[:1]:
            if findings.replay(node, parting) != side.outcome:
                return False
    return True


def _first_timer(parting: Parting, keys: Sequence[bytes]) -> bytes:
    return next((timer_id for key in keys if (timer_id := _timer_of(parting, key))), b"")


def _timer_of(parting: Parting, key: bytes) -> bytes:
    return timer_of_key(key, _values(parting, key))


def _values(parting: Parting, key: bytes) -> list[bytes | None]:
    return [parting.before.get(key), *(side.outcome.changes.get(key) for side in parting.sides)]


def _report_side(side: Side) -> SideReport:
    return SideReport(
        who=side.name, validators=side.validators, has_oracle=side.has_oracle, root=show_root(side.outcome)
    )


def _report_key(parting: Parting, key: bytes) -> KeyReport:
    return KeyReport(
        key=key.hex(),
        name=name_key(key, _values(parting, key)),
        timer=_timer_of(parting, key).hex(),
        before=show_entry(key, parting.before.get(key)),
        values=[show_written(side.outcome, key) for side in parting.sides],
    )


def _describe_write(parting: Parting, origin: Origin) -> str:
    if not origin.told:
        return origin.what
    told = origin.told[:2]
    said = told[0] if len(dict.fromkeys(told)) == 1 else f"{told[0]}; {parting.sides[1].name}: {told[1]}"
    if origin.receipt < 0:
        return f"{origin.what}: {said}"
    call = f"{origin.what}: " if origin.transaction else ""
    more = f" (the first of {origin.others + 1} receipts that touch the key)" if origin.others else ""
    return f"receipt {origin.receipt}: {call}{said}{more}"


def _notes(parting: Parting, *, is_from_the_past: bool) -> list[str]:
    notes = []
    if parting.refusal:
        notes.append(f"the oracle refuses block {short(parting.digest)}: {parting.refusal}")
    if is_from_the_past:
        notes.append("the same code with nothing behind it but the blocks comes to another outcome")
    right, wrong = parting.right, parting.wrong
    is_same_content = right.receipts == wrong.receipts and not differing_keys(right, wrong, parting.before)
    if len(parting.sides) > 1 and is_same_content and not wrong.broken:
        is_same = "the same" if right.operations == wrong.operations else "other"
        notes.append(f"receipts and values are the same on all sides, the log has {is_same} operations")
    return notes
