"""Validators with wrong parts, for tests of what becomes of them."""

from validators.actors import PROGRAMS, Heartbeat
from validators.settings import make_engine


class SlowHeart(Heartbeat):
    """Counts every beat twice."""

    def handle_timer(self, payload):
        super().handle_timer(payload)
        beats = int.from_bytes(self.host.get(b"beats"), "big")
        self.host.put(b"beats", (beats + 1).to_bytes(8, "big"))


def make_slow_hearted(*arguments):
    return make_engine(*arguments, programs={**PROGRAMS, "heartbeat": SlowHeart})
