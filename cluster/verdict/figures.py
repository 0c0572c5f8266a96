"""The rows and figures of a verdict: the results of a finished run, by replica and as a whole."""

from dataclasses import asdict
from typing import Final

from checker.checks.expectations import ExpectedRecovery
from checker.checks.expected_reports import EVIDENCE, ExpectedReports
from checker.checks.timer_delivery import TimerDelivery
from cluster.runtime.cluster import ClusterRun
from cluster.runtime.machines import MachineSlot
from cluster.scenario.shape import tag_of
from cluster.verdict.monitor import Monitor
from report.verdict_rows import ValidatorRow

OF_OWN_DATABASE: Final = ("rebuilt", "pruned", "executed again")
"""Work of replica modes on the project's own database, which an application does not have."""


def row_of(run: ClusterRun, slot: MachineSlot, monitor: Monitor) -> ValidatorRow:
    """Return the verdict's row of a replica."""
    fired, expired, insolvent = monitor.exits.get(slot.node, (0, 0, 0))
    last = monitor.last.get(slot.node)
    counts = slot.counts
    is_byzantine = not monitor.is_honest(slot.node)
    status = "stopped" if counts.halted else "observer" if counts.observes else "voter"
    status = "behind" if slot.node in monitor.context.world.left_behind else status
    builds, world = monitor.context.plan.builds, monitor.context.world
    notes = [
        builds.named.get(world.build(slot.node), ""),
        "byzantine" if is_byzantine else "",
        counts.halted,
        "" if slot.is_running else "down",
        _describe_observer(run, slot),
        f"snapshots joined: {counts.snapshots_joined}" if counts.snapshots_joined else "",
        f"{counts.damaged} damaged, {counts.repaired} repaired" if counts.damaged else "",
    ]
    return ValidatorRow(
        node=slot.node,
        height=slot.counts.height,
        finalized_height=last.header.height if last else 0,
        state_root=last.header.state_root.hex() if last else "",
        executed=slot.counts.executed,
        rolled_back=slot.counts.rolled_back,
        undone=slot.counts.undone,
        fired=fired,
        expired=expired,
        insolvent=insolvent,
        waiting=last.summary.waiting_live + last.summary.waiting_dead if last else 0,
        note="; ".join(note for note in notes if note),
        status="twin" if slot.node in run.scenario.twins else "byzantine" if is_byzantine else status,
    )


def _describe_observer(run: ClusterRun, slot: MachineSlot) -> str:
    """Return why a validator observes, or which observer this is and how often it did as its mode says."""
    observer = run.scenario.observers_by_number.get(slot.node)
    if slot.node in run.scenario.twins:
        return f"twin of validator {run.scenario.identity_of(slot.node)}"
    if observer is None:
        return f"observer: {slot.counts.observes}" if slot.counts.observes else ""
    name = list(run.scenario.observers)[slot.node - run.scenario.cluster.validators]
    what, count = observer.shown(slot.counts, run.observers.rounds(slot.node))
    return f"observer {name}, {tag_of(type(observer))}: {what} {count:,} times"


def replica_modes_of(run: ClusterRun) -> dict[str, int]:
    """Return by name how often each observer did as its replica mode says."""
    numbered = zip(run.scenario.observers, run.scenario.observers_by_number.items(), strict=True)
    return {
        name: count
        for name, (node, observer) in numbered
        for work, count in (observer.shown(run.slots[node].counts, run.observers.rounds(node)),)
        if run.scenario.application is None or work not in OF_OWN_DATABASE
    }


def work_of(run: ClusterRun, monitor: Monitor) -> dict[str, int]:
    """Return how often each replica with a mode of its own did the work of that mode, unless it may be idle.

    A run that goes on from a data directory knows the work of its own process only, so that nothing is asked of it.
    """
    sections = {
        **{f"validator {name}": (int(name), section) for name, section in run.scenario.validators.items()},
        **{
            f"observer {name}": (node, run.scenario.observers_by_number[node])
            for node, name in enumerate(run.scenario.observers, run.scenario.cluster.validators)
        },
    }
    return {
        f"{name} {work}": count
        for name, (node, section) in sections.items()
        if not section.may_be_idle and monitor.is_honest(node) and not monitor.is_reopened
        for work, count in section.work(run.slots[node].counts, run.observers.rounds(node)).items()
        if run.scenario.application is None or work not in OF_OWN_DATABASE
    }


def recoveries_of(run: ClusterRun) -> dict[str, int]:
    """Return what all replicas made of their disks; only validators become observers."""
    counts = [slot.counts for slot in run.slots]
    return {
        "damaged": sum(each.damaged for each in counts),
        "repaired": sum(each.repaired for each in counts),
        "observers": sum(bool(each.observes) for each in counts[: run.scenario.cluster.validators]),
    }


def slowed_of(run: ClusterRun) -> dict[int, int]:
    """Return by replica when the work began that it still does and that already takes longer than it costs."""
    began = {slot.node: None if slot.port is None else slot.port.slowed_since_us for slot in run.slots}
    return {node: since_us for node, since_us in began.items() if since_us is not None}


def figures_of(run: ClusterRun, monitor: Monitor) -> dict[str, int | str]:
    """Return the run's figures by name."""
    check = monitor.context.check
    reports, recovery, timers = check(ExpectedReports), check(ExpectedRecovery), check(TimerDelivery)
    figures: dict[str, int | str] = {
        "end": run.outcome.reason,
        "end_detail": run.outcome.detail,
        "virtual_us": run.outcome.now_us,
        "turns": run.outcome.turns,
        "events": run.trace.count,
        "blocks": len(monitor.chain),
        "messages_sent": run.bus.sent,
        "messages_delivered": run.bus.delivered,
        "messages_refused": sum(slot.counts.refused for slot in run.slots),
        "rolled_back": sum(slot.counts.rolled_back for slot in run.slots),
        **recovery.counts,
        "undone": sum(slot.counts.undone for slot in run.slots),
        "evidence": sum(reports.counts[name] for name in EVIDENCE),
        "transactions_submitted": run.clients.submitted,
        "transactions_refused": run.clients.refused,
    }
    if run.scenario.network.uplink_bytes_per_second:
        figures["uplink_waits"] = run.bus.waited
    figures.update({f"mode_{name}": count for name, count in replica_modes_of(run).items()})
    figures.update({f"reported_{name}": count for name, count in reports.counts.items()})
    figures.update({f"fault_{effect.name}": effect.count for effect in run.effects})
    figures.update({f"timers_{name}": count for name, count in asdict(timers.figures()).items()})
    return figures
