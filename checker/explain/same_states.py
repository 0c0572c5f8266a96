"""The report of a failure with equal executions of each block: memory, disks, votes, finality.

Three of these failures are differences of states, and their reports have groups, a height and a cause. They are cached
state that no block explains, a log that does not open, and a process with input besides the blocks.
"""

from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

from checker.explain.chain_of_events import read_taken_back, surroundings
from checker.explain.evidence import seen_by
from checker.explain.executions import RefusedLog
from checker.explain.explanation import Cause, Explanation, Findings, SideReport
from checker.explain.formatting import name_key
from checker.explain.reading import digest_in
from checker.observations import name_validators, short
from checker.record.errors import on_one_line
from checker.results import CheckResult, Evidence
from network.events import events_of_type
from network.words import counted
from validators.events import BlockExecuted

_OF_MEMORY: Final[Mapping[str, Cause]] = {
    "live-values": "clean-up",
    "indexes": "clean-up",
    "operation-log": "clean-up",
    "bitmap": "hashing",
}
"""Causes by the name of a check that compares memory with the log."""

_OF_PROCESSES: Final[Mapping[str, Cause]] = {"cold-replay": "input", "determinism": "input"}
"""Causes by the name of a check that compares two processes: a differing process had other input."""

_SAME: Final = "all executions of each block have the same outcome, and the oracle agrees with each block it executed"

_FOREIGN: Final = "unknown: the application owns the states, and the record has only its requests and answers"


def explain_same_states(explanation: Explanation, findings: Findings) -> Explanation:
    """Complete a report from the failed checks, for a run without a divergence."""
    chain = surroundings(findings.events(), explanation.evidence)
    decisive = findings.decisive
    explanation = msgspec.structs.replace(
        explanation,
        chain=chain,
        seen=[] if decisive is None else seen_by(decisive, findings),
        notes=[*explanation.notes, _SAME] if findings.has_tables else explanation.notes,
        no_cause=explanation.no_cause if findings.has_tables else _FOREIGN,
    )
    if not findings.has_tables:
        explanation = _with_roots(explanation, findings)
    failed = [check for check in findings.checks if check.status == "failed"]
    for refused in findings.executions.refused_logs if failed else ():
        height = findings.executions.sound_height_of(refused.operations)
        if height is not None:
            return _of_refused_log(explanation, findings, refused, height)
    memory = next((check for check in failed if check.name in _OF_MEMORY), None)
    if memory is not None:
        return _of_memory(explanation, findings, memory)
    # An outside application may differ between two processes without other input.
    known = _OF_PROCESSES if findings.has_tables else {}
    causes = [known[check.name] for check in failed if check.name in known]
    return msgspec.structs.replace(explanation, cause=next(iter(causes), None))


def _with_roots(explanation: Explanation, findings: Findings) -> Explanation:
    """Add the replicas with each root of the block that a check names, if the roots differ."""
    digest, height = digest_in(explanation.evidence.get("block")), explanation.evidence.get("height")
    nodes: dict[bytes, dict[int, None]] = {}
    for event, executed in events_of_type(findings.events() if digest else (), BlockExecuted):
        if executed.digest == digest and not any(event.node in known for known in nodes.values()):
            nodes.setdefault(executed.root, {})[event.node] = None
    if len(nodes) < 2 or not isinstance(height, int):
        return explanation
    ranked = sorted(nodes.items(), key=lambda each: -len(each[1]))
    sides = [
        SideReport(who=name_validators(known), validators=sorted(known), root=root.hex()) for root, known in ranked
    ]
    return msgspec.structs.replace(explanation, height=height, block=digest.hex(), sides=sides)


def _subject_of(evidence: Mapping[str, Evidence]) -> Iterator[str]:
    """Yield the key or the place in memory that a check names."""
    key = digest_in(evidence.get("key"))
    if key:
        yield name_key(key)
    elif "place" in evidence:
        yield str(evidence["place"])


def _of_refused_log(explanation: Explanation, findings: Findings, refused: RefusedLog, height: int) -> Explanation:
    """Report a log with the right operations that does not open as a state, or has another root."""
    who = name_validators([refused.node])
    digest = next(iter(findings.executions.final[height]))
    root = findings.executions.blocks[digest].block.header.state_root.hex()
    return msgspec.structs.replace(
        explanation,
        cause="hashing",
        height=height,
        block=digest.hex(),
        sides=[
            SideReport(who=f"the log on the disk of {who}", root=root),
            SideReport(who=who, validators=[refused.node], root=f"none: {on_one_line(refused.reason)}"),
        ],
        write=f"{who} reads the right operations of {counted(height, 'blocks')} from disk and cannot open the state",
    )


def _of_memory(explanation: Explanation, findings: Findings, check: CheckResult) -> Explanation:
    """Report memory that differs from the log; rewound blocks are the likely cause."""
    evidence = dict(check.evidence)
    node, height = evidence.get("validator"), evidence.get("height")
    taken_back = [back for event in findings.events() if event.node == node and (back := read_taken_back(event))]
    sides = []
    if isinstance(node, int):
        who, source = name_validators([node]), str(evidence.get("source", "its operation log"))
        other = source if source.startswith("the ") else f"the {source.removeprefix('its ')} of {who}"
        # Evidence without values means that the check could not compare; its summary has the reason.
        said = [on_one_line(str(evidence.get(name, check.summary))) for name in ("expected", "found")]
        sides = [
            SideReport(who=other, says=said[0]),
            SideReport(who=who, validators=[node], says=said[1]),
        ]
    block, write = "", on_one_line(f"{check.name}: {check.summary}")
    if taken_back:
        last = taken_back[-1]
        block, height = last.digest.hex(), last.height if height is None else height
        write += f"; the last rewound block was {short(last.digest)} of height {last.height}"
    return msgspec.structs.replace(
        explanation,
        cause="clean-up" if taken_back else _OF_MEMORY[check.name],
        height=height if isinstance(height, int) else None,
        block=block,
        sides=sides,
        write=write,
        origin=", ".join([check.name, *_subject_of(evidence)]),
        told=[side.says for side in sides],
    )
