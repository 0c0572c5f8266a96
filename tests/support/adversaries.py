"""An adversary of Simplex on its own, with one behaviour, and all that it does besides."""

from cluster.runtime.genesis import keys_of
from cluster.scenario.load import load_scenario
from faults import Byzantine
from faults.byzantine.catalogue import behaviours_of
from faults.byzantine.registry import ADVERSARIES
from network.chance import Chance
from tests.support.simplex_bench import CONFIG
from validators.consensus.simplex.kind import SIMPLEX
from validators.settings import make_scheme

ME, OTHERS = 1, (0, 2, 3)
KEYS = keys_of(load_scenario("calm"))


def scheme_of(node):
    return make_scheme(KEYS.seeds[node], KEYS.validator_keys)


class Wire:
    """Notes what an adversary does besides."""

    wall_us = 5_000_000

    def __init__(self):
        self.sent, self.notes, self.given = [], [], []

    def send_all(self, messages):
        self.sent += messages

    def give(self, message):
        self.given.append(message)

    def note(self, name, kind, to):
        self.notes.append((kind, tuple(to)))


def adversary_with(behaviour, *, seed=0, is_foreign=False, **fields):
    """Return validator 1 of four as an adversary with a behaviour."""
    adversary = ADVERSARIES[SIMPLEX.name].make(
        ME,
        validators=4,
        replicas=4,
        byzantine=(ME,),
        scheme=scheme_of(ME),
        config=CONFIG,
        chance=Chance(seed),
        max_skew_ms=500,
        is_foreign=is_foreign,
    )
    adversary.wire = Wire()
    fault = Byzantine(validator=ME, behaviour=behaviour, start_ms=0, stop_ms=9, **fields)
    adversary.begin(behaviours_of(SIMPLEX.name)[behaviour](adversary, "it", fault))
    return adversary
