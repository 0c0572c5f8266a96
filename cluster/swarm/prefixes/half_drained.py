"""A storm that is half drained: dead timers wait in the state that restarts, joins and rewinds begin from."""

from cluster.swarm.prefixes.prefix import Prefix, storm_after_outage
from network.draw import Draw


def half_drained(draw: Draw, validators: int) -> Prefix:
    """Return the script: an outage, and half of the clean-up after it."""
    return storm_after_outage(draw, "half-drained", validators)
