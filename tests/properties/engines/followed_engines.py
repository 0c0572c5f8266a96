"""Engines do what their specification says, whatever happens to them, and agree as long as few are Byzantine.

Most of a run's time goes into blocks. Here are none, so that engines meet more losses, cuts, power failures, forgeries
and late answers. The specification follows every life, call by call. Where at most a third is Byzantine, there is one
final block of a height, no honest validator is convicted, and finality comes back when all is well again.
"""

from checker.oracle.consensus.compare import compare_life
from checker.oracle.consensus.registry import SPECIFICATIONS
from network.types import MILLISECOND_US
from tests.properties.engines.configs import CONFIGS, SHALLOW
from tests.properties.engines.engine_network import EngineNetwork
from tests.properties.engines.replica import Trouble
from tests.properties.engines.signatures import KNOWN

_PHASES = 5
_STEPS = {"simplex": 90, "hotstuff": 75, "longest-chain": 130}
"""Calls of engines in a phase: those of some take longer than those of others."""

_BEARABLE_US = 6_000 * MILLISECOND_US
"""Trouble that the longest chain bears: in this time half of the validators alone make no block final."""

_CALM_STEPS = 2_500
_VALIDATORS = (4, 4, 4, 4, 4, 4, 5, 6, 7, 7, 3, 1)


def followed_engines(kind):
    """Return the property of engines of one kind."""

    def check_followed_engines(draw):
        network = _draw_network(kind, draw)
        is_timed = network.is_bound and kind.name == "longest-chain"
        for _ in range(_PHASES):
            network.trouble = _draw_trouble(network, draw)
            for replica in network.replicas:
                replica.skew_us = (0, 0, -1, 1)[draw(4)] * draw(300 * MILLISECOND_US)
            network.run(_STEPS[kind.name], lambda: is_timed and network.now_us > _BEARABLE_US)
        if network.is_bound and draw(3) == 0:
            _heal(network)
        for replica in network.replicas:
            network.look_at_memory(replica)
        yield from _differences(network)
        yield from ((fault, False) for fault in network.faults[:1] if network.is_bound)
        yield "engines do nothing", network.steps > 0

    return check_followed_engines


def _draw_network(kind, draw):
    validators = _VALIDATORS[draw(len(_VALIDATORS))]
    faults = (validators - 1) // 3
    is_bound = draw(5) > 1
    twins = [draw(validators)] if faults and draw(3) else []
    replicas = [*range(validators), *twins, *([validators] * (draw(3) == 0))]
    configs = CONFIGS[kind.name] if is_bound else (*SHALLOW[kind.name], *CONFIGS[kind.name])
    return EngineNetwork(
        kind,
        configs[draw(len(configs))],
        validators=validators,
        replicas=replicas,
        twins=twins,
        is_bound=is_bound,
        draw=draw,
    )


def _draw_trouble(network, draw):
    return Trouble(
        delay_us=(25, 25, 100, 900)[draw(4)] * MILLISECOND_US,
        loss=(0, 0, 5, 20)[draw(4)],
        copies=(0, 10)[draw(2)],
        slow=(0, 6)[draw(2)],
        early=(0, 0, 10)[draw(3)],
        crashes=(0, 0, 1, 3)[draw(4)],
        acts=(0 if network.is_bound else 50, 10, 25)[draw(3)],
        misjudged=0 if network.is_bound else (0, 5)[draw(2)],
        cut=dict.fromkeys(_draw_cut(network, draw)),
    )


def _draw_cut(network, draw):
    places = range(len(network.replicas))
    lone, halves = draw(len(places)), [draw(2) for _ in places]
    match draw(8):
        case 0 | 1:
            return [(lone, other) for other in places] + [(other, lone) for other in places]
        case 2:
            return [(one, other) for one in places for other in places if halves[one] != halves[other]]
        case 3:
            return [(draw(len(places)), draw(len(places))) for _ in places]
        case 4 | 5:
            # Two of one key talk to one half each, and the halves to each other.
            twins = [replica.place for replica in network.replicas if replica.me in network.byzantine]
            deaf = [(twins[halves[place]], place) for place in places if len(twins) == 2]
            return [*deaf, *((one, other) for other, one in deaf)]
    return []


def _heal(network):
    """Require that every honest validator has a new final block soon after all is well again."""
    network.trouble = Trouble()
    for replica in network.replicas:
        replica.skew_us = 0
        network.start(replica)
    honest = [replica for replica in network.replicas if replica.me not in network.byzantine]
    validators = [replica for replica in honest if not replica.is_observer]
    goal = 1 + max(map(network.final_height, validators), default=0)
    network.run(_CALM_STEPS, lambda: all(network.final_height(replica) >= goal for replica in validators))
    low = [replica.me for replica in validators if network.final_height(replica) < goal]
    voters = len(dict.fromkeys(replica.me for replica in validators))
    if low and voters >= network.validators - (network.validators - 1) // 3:
        network.faults.append(f"finality has not come back: replicas {low} have no final block of height {goal}")


def _differences(network):
    name = network.kind.name
    for replica in [*network.replicas, *network.strangers]:
        for number, life in enumerate(replica.lives, 1):
            compared = compare_life(SPECIFICATIONS[name], life.life, life.calls(), number=number, known=KNOWN)
            if compared.difference is not None:
                yield f"{name} of {network.validators} validators: {compared.difference}", False
