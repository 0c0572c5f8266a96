"""The report of a height of a recorded run, as `show` prints it.

Records hold blocks and roots, but no receipts. So the block is executed again by the code of the requested replica, or
of a replica for which it became final.
"""

from collections.abc import Iterator, Sequence
from itertools import islice, zip_longest

import msgspec

from checker.explain.executions import Changes
from checker.explain.formatting import NOT_WRITTEN, name_key, order_of_key, show_entry
from checker.record.errors import on_one_line
from checker.record.run_directory import RecordReader
from cluster.inspect.height.recorded import RanBlock, RecordedHeight, ShowError, read_height
from cluster.inspect.height.rows import event_rows, receipt_words, transaction_rows
from cluster.inspect.height.timers import timer_rows
from cluster.inspect.height.tree import RecordedBlock
from cluster.inspect.told_events import ToldEvents
from cluster.live.replicas import mode_of
from report.block_rows import (
    AbsentReplica,
    BlockLine,
    BlockRow,
    CertificateLine,
    Comparison,
    DifferentKey,
    DifferentReceipt,
    HeaderRow,
    HeightReport,
    ReplicaExecution,
    ReplicaPart,
    RootLine,
    ToldBlockRow,
    ToldHeightReport,
)
from validators.consensus.registry import ENGINES
from validators.events import DIVERGED


def show_height(
    reader: RecordReader,
    height: int,
    *,
    replica: int | None = None,
    prefix: str = "",
    told: ToldEvents | None = None,
) -> HeightReport:
    """Return a height of a recorded run; of an application with its answers, as only it can execute a block.

    Args:
        reader: The record, finished or not.
        height: The height.
        replica: The replica whose execution is shown; None for a replica for which the block is final.
        prefix: The first digits of the shown block; empty for the final block, or the replica's.
        told: The events that an application told.

    Raises:
        ShowError: The record has no such height, replica or block.
        CodeChangedError: Other code wrote the record, and this code cannot read it or executes it otherwise.
        DamagedRecordError: The record cannot be read.
    """
    place = read_height(reader, height, is_foreign=told is not None)
    roots = _root_lines(place)
    replicas = place.scenario.replicas
    if replica is not None and not 0 <= replica < replicas:
        raise ShowError(f"{reader.path} has no replica {replica}; it has replicas 0 to {replicas - 1}")
    chosen = _chosen(place, replica, prefix)
    block, comparison = (None, None) if chosen is None or told is not None else _executed(place, chosen, replica)
    report = HeightReport(
        run=str(reader.path),
        scenario=on_one_line(reader.manifest.scenario),
        seed=reader.manifest.seed,
        verdict=on_one_line(reader.manifest.verdict),
        height=height,
        heights=(1, place.last),
        view_word=ENGINES[place.scenario.consensus.engine].view_word,
        blocks=[_block_line(place, each) for each in place.blocks],
        is_agreed=_is_agreed(roots),
        roots=roots,
        absent=list(_absent(place)),
        replica=None if replica is None else _replica_part(place, replica),
        block=block,
        comparison=comparison,
        notes=[on_one_line(note) for note in place.notes],
    )
    if told is None:
        return report
    answer = None if chosen is None else _told(place, chosen, replica, told)
    return ToldHeightReport(**msgspec.structs.asdict(report), told=answer)


def _told(place: RecordedHeight, block: RecordedBlock, replica: int | None, told: ToldEvents) -> ToldBlockRow:
    """Return a block of an application, with the answer of a replica."""
    content, node = block.read(), place.executor_of(block) if replica is None else replica
    root = place.root_of(node, block) or content.header.state_root
    events = told.of(block.digest, root)
    return ToldBlockRow(
        header=msgspec.structs.replace(_header_row(place, block), policy="an application's"),
        replica=node,
        root=root.hex(),
        transactions=[each.hex() for each in content.transactions],
        events=None if events is None else [dict(event) for event in events],
    )


def _chosen(place: RecordedHeight, replica: int | None, prefix: str) -> RecordedBlock | None:
    """Return the block to show; None where the replica that was asked for has none; raises ShowError."""
    if prefix:
        found = {each.digest: each for each in reversed(place.blocks) if each.digest.hex().startswith(prefix)}
        if len(found) == 1:
            return next(iter(found.values()))
        there = ", ".join(dict.fromkeys(each.digest.hex()[:12] for each in place.blocks))
        count = "more than one block" if found else "no block"
        raise ShowError(
            f"{place.reader.path} has {count} that begins with {prefix} at height {place.height}; there: {there}"
        )
    if replica is None:
        return place.blocks[0]
    part = place.replica(replica)
    own = [root.digest for root in place.roots if root.node == replica]
    refused = [each for each in place.blocks if replica in place.refused_by(each)]
    # A final block that it refused says more than another block that it kept.
    own += [each.digest for each in refused if each.is_on_chain]
    own += [each.digest for _, each in reversed(part.executed)]
    own += [each.digest for each in refused]
    if part.halted and part.finalized == place.height - 1:
        # It may have stopped over this block; its own code says.
        own.append(place.blocks[0].digest)
    return next((block for digest in own for block in place.blocks if block.digest == digest), None)


def _executed(place: RecordedHeight, block: RecordedBlock, replica: int | None) -> tuple[BlockRow, Comparison | None]:
    """Return the block as a replica executes it, and as another replica does where that differs."""
    usual = place.executor_of(block)
    ran = place.run(block, usual if replica is None else replica)
    comparison = None
    if ran.node != usual and ran.execution.root != (place.root_of(usual, block) or b""):
        comparison = _compare(place, ran, place.run(block, usual))
    return _block_row(place, block, ran), comparison


def _block_row(place: RecordedHeight, block: RecordedBlock, ran: RanBlock) -> BlockRow:
    execution, scene = ran.execution, place.scene
    return BlockRow(
        header=_header_row(place, block),
        executed_as=ran.node,
        source=ran.source,
        root=execution.root.hex(),
        refusal=on_one_line(execution.refusal),
        transactions=transaction_rows(execution, scene),
        timers=timer_rows(execution, ran.past, scene),
        events=event_rows(execution, scene.names),
        summary={} if execution.summary is None else msgspec.structs.asdict(execution.summary),
    )


def _header_row(place: RecordedHeight, block: RecordedBlock) -> HeaderRow:
    header, scenario, genesis = block.read().header, place.scenario, place.scene.genesis
    return HeaderRow(
        block=block.digest.hex(),
        height=header.height,
        view=header.view,
        proposer=header.proposer,
        parent=header.parent.hex(),
        timestamp_ms=header.timestamp_ms,
        slot=header.slot,
        state_root=header.state_root.hex(),
        tx_root=header.tx_root.hex(),
        receipts_root=header.receipts_root.hex(),
        engine=scenario.consensus.engine,
        policy=place.scene.policy(header),
        timebase=genesis.timebase,
        validators=len(genesis.validators),
        certificates=[
            CertificateLine(certificate=kind, signers=max(holders.values()), held_by=sorted(holders))
            for (digest, kind), holders in place.trace.certificates.items()
            if digest == block.digest
        ],
    )


def _block_line(place: RecordedHeight, block: RecordedBlock) -> BlockLine:
    content = block.read()
    final_on = place.final_on(block.digest)
    if final_on or block.is_on_chain:
        status = "final"
    elif block.kept_by is None and not place.honest(place.executed_by(block)):
        status = "refused"
    else:
        status = "lost" if place.blocks[0].is_on_chain else "open"
    return BlockLine(
        block=block.digest.hex(),
        status=status,
        view=content.header.view,
        proposer=content.header.proposer,
        state_root=content.header.state_root.hex(),
        transactions=len(content.transactions),
        final_on=final_on,
        executed_by=place.executed_by(block),
        refused_by=place.refused_by(block),
        reason=on_one_line(block.reason),
    )


def _root_lines(place: RecordedHeight) -> list[RootLine]:
    """Return the roots of the height: of final blocks, and the roots for which replicas refused a block."""
    found: dict[tuple[bytes, bytes, bool], list[int]] = {}
    for root in place.roots:
        found.setdefault((root.digest, root.root, True), []).append(root.node)
    for node in place.honest(sorted(place.trace.replicas)):
        for _, each in place.replica(node).executed:
            if each.mode == DIVERGED:
                found.setdefault((each.digest, each.root, False), []).append(node)
    return [
        RootLine(block=block.hex(), root=root.hex(), is_final=is_final, replicas=list(dict.fromkeys(nodes)))
        for (block, root, is_final), nodes in found.items()
    ]


def _is_agreed(roots: Sequence[RootLine]) -> bool:
    """Return whether at most one block is final, and no block has two roots."""
    final = dict.fromkeys(root.block for root in roots if root.is_final)
    pairs = dict.fromkeys((root.block, root.root) for root in roots)
    return len(final) <= 1 and len(pairs) == len(dict.fromkeys(block for block, _ in pairs))


def _absent(place: RecordedHeight) -> Iterator[AbsentReplica]:
    """Yield the replicas without a final block at the height."""
    for node in range(place.scenario.replicas):
        if not any(root.node == node for root in place.roots):
            yield AbsentReplica(replica=node, reason=_why_absent(place, node))


def _why_absent(place: RecordedHeight, node: int) -> str:
    """Return why a replica has no final block at the height."""
    part = place.replica(node)
    if part.final:
        return "Byzantine: what is final for it is not recorded"
    if part.joined:
        return f"took a snapshot of height {part.joined} for its state"
    if part.halted:
        return on_one_line(f"halted behind height {part.finalized}: {part.halted}")
    if part.booted >= place.height:
        return f"started with height {part.booted} on its disk"
    return f"final up to height {part.finalized}{'; executed a block of this one' if part.executed else ''}"


def _replica_part(place: RecordedHeight, node: int) -> ReplicaPart:
    part = place.replica(node)
    final = next((root for root in place.roots if root.node == node), None)
    return ReplicaPart(
        replica=node,
        mode=mode_of(place.scenario, node),
        mutants=place.mutants_of(node),
        executed=list(_executions(place, node)),
        final="" if final is None else final.digest.hex(),
        root="" if final is None else final.root.hex(),
        left=[digest.hex() for _, digest in part.left],
        refused=[block.digest.hex() for block in place.blocks if node in place.refused_by(block)],
        halted=on_one_line(part.halted),
        joined_by_snapshot_at=part.joined or None,
    )


def _executions(place: RecordedHeight, node: int) -> Iterator[ReplicaExecution]:
    for at_us, each in place.replica(node).executed:
        yield ReplicaExecution(
            at_us=at_us, block=each.digest.hex(), view=each.view, mode=on_one_line(each.mode), root=each.root.hex()
        )


def _compare(place: RecordedHeight, here: RanBlock, there: RanBlock) -> Comparison:
    """Return the differences of two replicas' executions, up to the end of an aborted execution."""
    names, sides = place.scene.names, (here.execution, there.execution)
    is_whole = all(each.root for each in sides)
    length = (max if is_whole else min)(len(each.receipts) for each in sides)
    pairs = islice(zip_longest(*(each.receipts for each in sides)), length)
    return Comparison(
        replica=there.node,
        root=there.execution.root.hex(),
        refusal=on_one_line(there.execution.refusal),
        receipt_counts=(len(sides[0].receipts), len(sides[1].receipts)),
        receipts=[
            DifferentReceipt(
                receipt=index,
                here=None if one is None else receipt_words(one, names),
                elsewhere=None if other is None else receipt_words(other, names),
            )
            for index, (one, other) in enumerate(pairs)
            if one != other
        ],
        keys=list(_different_keys(*(each.changes for each in sides))) if is_whole else [],
    )


def _different_keys(here: Changes, there: Changes) -> Iterator[DifferentKey]:
    """Yield the keys that two executions write otherwise."""
    for key in sorted(dict.fromkeys([*here, *there]), key=order_of_key):
        one, other = (_written(changes, key) for changes in (here, there))
        if here.get(key) != there.get(key) or (key in here) != (key in there):
            name = name_key(key, (here.get(key), there.get(key)))
            yield DifferentKey(key=key.hex(), name=on_one_line(name), here=one, elsewhere=other)


def _written(changes: Changes, key: bytes) -> str:
    if key not in changes:
        return NOT_WRITTEN
    value = changes[key]
    return "deleted" if value is None else on_one_line(show_entry(key, value))
