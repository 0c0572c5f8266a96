"""A toy actor."""

from stampede_testbed.plugin.actors import Actor, require_empty


class Countdown(Actor):
    """Schedules itself once a slot, as often as the start says in one byte."""

    handlers = ("start", "handle_timer")

    def start(self, payload: bytes) -> None:
        """Begin to count."""
        self.host.put(b"left", payload)
        self._schedule_next(payload[0])

    def handle_timer(self, payload: bytes) -> None:
        """Count one down."""
        require_empty(payload)
        (left,) = self.host.get(b"left") or b"\0"
        self.host.put(b"left", bytes([left - 1]))
        self._schedule_next(left - 1)

    def _schedule_next(self, left: int) -> None:
        if left:
            self.host.schedule_timer(self.host.now + 1, b"", gas_limit=20_000)
