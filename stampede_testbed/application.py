"""The project's own execution engine as an outside application: `python -m stampede_testbed.application`.

It speaks the protocol of `stampede docs application` on its standard streams, with every feature. With `--engine
oracle` the independent oracle replaces the engine, without snapshots and early application. Without an encoded genesis
in `parameters.genesis`, it begins a small chain for `application check`.
"""

import argparse
import sys
from io import FileIO

from stampede_testbed._command import enter_app


def main() -> int:
    """Answer requests until standard input ends; return 0."""
    enter_app()
    from checker.record.program import VERSION  # noqa: PLC0415 - the folders of the test bed are found by now
    from cluster.outside.frames import FRAMINGS  # noqa: PLC0415
    from cluster.outside.own.engine import EngineApplication  # noqa: PLC0415
    from cluster.outside.own.oracle import OracleApplication  # noqa: PLC0415
    from cluster.outside.own.serve import serve  # noqa: PLC0415

    parser = argparse.ArgumentParser(prog="python -m stampede_testbed.application", description=__doc__)
    parser.add_argument("--framing", choices=tuple(FRAMINGS), default="json", help="the form of frames (default json)")
    engines = {"engine": EngineApplication, "oracle": OracleApplication}
    parser.add_argument("--engine", choices=tuple(engines), default="engine", help="the executor (default engine)")
    options = parser.parse_args()
    framing = FRAMINGS[options.framing]
    # Only frames may go to standard output; other prints would break the protocol.
    sys.stdout = sys.stderr
    with FileIO(0, closefd=False) as requests, FileIO(1, "w", closefd=False) as answers:
        serve(framing, engines[options.engine](framing, VERSION).answer, requests, answers)
    return 0


if __name__ == "__main__":
    sys.exit(main())
