"""The rows and figures of a verdict: what a run that is over came to, replica by replica and as a whole."""

from dataclasses import asdict

from checker.checks.expectations import ExpectedRecovery
from checker.checks.reports import EVIDENCE, ExpectedReports
from checker.checks.timers import TimerDelivery
from cluster.runtime.cluster import ClusterRun
from cluster.runtime.machines import Place
from cluster.scenario.replicas_section import count_of_road, deeds_of_road, kind_of_observer
from cluster.verdict.monitor import Monitor
from report.console import ValidatorRow


def row_of(run: ClusterRun, place: Place, monitor: Monitor) -> ValidatorRow:
    """Return what the verdict says of one replica."""
    fired, expired, insolvent = monitor.exits.get(place.node, (0, 0, 0))
    last = monitor.last.get(place.node)
    counts = place.counts
    is_byzantine = not monitor.is_honest(place.node)
    standing = "stopped" if counts.halted else "observer" if counts.observes else "voter"
    notes = [
        "dishonest" if is_byzantine else "",
        counts.halted,
        "" if place.is_running else "down",
        _describe_observer(run, place),
        f"snapshots joined: {counts.snapshots_joined}" if counts.snapshots_joined else "",
        f"{counts.damaged} damaged, {counts.repaired} repaired" if counts.damaged else "",
    ]
    return ValidatorRow(
        node=place.node,
        height=place.counts.height,
        finalized_height=last.header.height if last else 0,
        state_root=last.header.state_root.hex() if last else "",
        executed=place.counts.executed,
        rolled_back=place.counts.rolled_back,
        undone=place.counts.undone,
        fired=fired,
        expired=expired,
        insolvent=insolvent,
        waiting=last.summary.waiting_live + last.summary.waiting_dead if last else 0,
        note="; ".join(note for note in notes if note),
        standing="dishonest" if is_byzantine else standing,
    )


def _describe_observer(run: ClusterRun, place: Place) -> str:
    """Return why a validator observes, or which observer this is and how often it went by its road."""
    observer = run.scenario.observers_by_number.get(place.node)
    if observer is None:
        return f"observer: {place.counts.observes}" if place.counts.observes else ""
    name = list(run.scenario.observers)[place.node - run.scenario.cluster.validators]
    what, count = count_of_road(observer, place.counts, run.roads.rounds(place.node))
    return f"observer {name}, {kind_of_observer(observer)}: {what} {count:,} times"


def roads_of(run: ClusterRun) -> dict[str, int]:
    """Return by name how often each observer did what its road is about."""
    numbered = zip(run.scenario.observers, run.scenario.observers_by_number.items(), strict=True)
    return {
        name: count_of_road(observer, run.places[node].counts, run.roads.rounds(node))[1]
        for name, (node, observer) in numbered
    }


def deeds_of(run: ClusterRun, monitor: Monitor) -> dict[str, int]:
    """Return how often each replica with a road of its own did what the road is about, unless it may be idle.

    A run that goes on from a data directory knows the deeds of its own process only, so that nothing is asked of it.
    """
    sections = {
        **{f"validator {name}": (int(name), section) for name, section in run.scenario.validators.items()},
        **{
            f"observer {name}": (node, run.scenario.observers_by_number[node])
            for node, name in enumerate(run.scenario.observers, run.scenario.cluster.validators)
        },
    }
    return {
        f"{name} {deed}": count
        for name, (node, section) in sections.items()
        if not section.may_be_idle and monitor.is_honest(node) and not monitor.is_reopened
        for deed, count in deeds_of_road(section, run.places[node].counts, run.roads.rounds(node)).items()
    }


def recoveries_of(run: ClusterRun) -> dict[str, int]:
    """Return what all replicas made of their disks; only validators become observers."""
    counts = [place.counts for place in run.places]
    return {
        "damaged": sum(each.damaged for each in counts),
        "repaired": sum(each.repaired for each in counts),
        "observers": sum(bool(each.observes) for each in counts[: run.scenario.cluster.validators]),
    }


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
        "messages_refused": sum(place.counts.refused for place in run.places),
        "rolled_back": sum(place.counts.rolled_back for place in run.places),
        **recovery.counts,
        "undone": sum(place.counts.undone for place in run.places),
        "evidence": sum(reports.counts[name] for name in EVIDENCE),
        "transactions_submitted": run.clients.submitted,
        "transactions_refused": run.clients.refused,
    }
    figures.update({f"road_{name}": count for name, count in roads_of(run).items()})
    figures.update({f"reported_{name}": count for name, count in reports.counts.items()})
    figures.update({f"fault_{effect.name}": effect.count for effect in run.effects})
    figures.update({f"timers_{name}": count for name, count in asdict(timers.figures()).items()})
    return figures
