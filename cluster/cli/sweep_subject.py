"""The thing that a sweep runs: the scenario of each seed, and the identity under which its results are kept."""

import argparse
from collections.abc import Callable
from typing import NamedTuple

from cluster.authoring.fault_levels import with_faults
from cluster.scenario.load import encode_scenario, load_scenario
from cluster.scenario.messages import ScenarioError
from cluster.scenario.model import Scenario
from cluster.scenario.sections.commands import refuse_application_of_swarm, refuse_unnamed_application
from cluster.swarm.generator import draw_scenario, swarm_identity
from network.draw import SWARM


class SweepSubject(NamedTuple):
    """A thing to sweep: `identity` tells it apart from anything else, and `encoded_of` returns a seed's scenario."""

    name: str
    identity: str
    encoded_of: Callable[[int], bytes]
    plugins: tuple[str, ...]


def subject_of(options: argparse.Namespace) -> SweepSubject:
    """Return the subject of a command line; raises ScenarioError."""
    if options.corpus is not None and not options.swarm:
        raise ScenarioError("--corpus", "varies what the swarm draws: give --swarm, and no scenario")
    if options.swarm:
        refuse_application_of_swarm(options.application, options.builds)
        identity, plugins = swarm_identity(options.settings), draw_scenario(options.seeds[0], options.settings).plugins
        identity += "" if options.corpus is None else f" with the corpus {options.corpus}"
        identity += "" if options.faults is None else f" with faults {options.faults}"
        return SweepSubject(SWARM, identity, drawn_by(options), plugins)
    scenario = scenario_of(options)
    refuse_unnamed_application(scenario)
    encoded, identity = encode_scenario(scenario), _identity_of(scenario)
    if options.faults is None:
        return SweepSubject(scenario.name, identity, lambda _seed: encoded, scenario.plugins)
    return SweepSubject(
        scenario.name,
        f"{identity} with faults {options.faults}",
        lambda seed: encode_scenario(with_faults(scenario, options.faults, seed)),
        scenario.plugins,
    )


def scenario_of(options: argparse.Namespace) -> Scenario:
    """Return the scenario that a command line names; raises ScenarioError."""
    return load_scenario(options.scenario, options.settings, options.application, options.builds)


def drawn_by(options: argparse.Namespace) -> Callable[[int], bytes]:
    """Return a function that draws the scenario of a seed, as a command line changes it."""
    return lambda seed: encode_scenario(with_faults(draw_scenario(seed, options.settings), options.faults, seed))


def _identity_of(scenario: Scenario) -> str:
    """Return the encoded scenario, and the files of its application: another build has results of its own."""
    files = {} if scenario.application is None else scenario.application.file_digests()
    return encode_scenario(scenario).decode() + "".join(f" with {path} {digest}" for path, digest in files.items())
