"""The folder of a corpus: plans that reached a pair of situations which no run before them had reached.

Each plan is a scenario file, which `run` takes with the seed in its first line. `corpus.json` lists the plans, oldest
first, and every reached pair. It is written last and atomically, so that a crash leaves the corpus as it was before a
round of seeds or after it. A file that it does not list does not belong to the corpus.
"""

import hashlib
import json
import re
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Final, NamedTuple, Self

import msgspec

from checker.record.host import make_folder, naming
from checker.record.locks import held
from checker.record.places import write_whole
from checker.record.plain_files import read_plain, resolved
from cluster.campaign.corpus.variation import VARIED
from cluster.campaign.shrink import COMMENT_CHARACTERS_MAX, plan_file
from cluster.campaign.shrink_candidates import Plain
from cluster.scenario.load import decode_scenario, encode_scenario, load_scenario
from cluster.scenario.messages import ScenarioError
from network.words import counted

FORMAT: Final = "stampede-corpus 1"
LISTING: Final = "corpus.json"
FAILED: Final = "failed"
"""The folder of varied plans whose run did not pass."""

TAG_DIGITS: Final = 8
LISTING_BYTES_MAX: Final = 1 << 28

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,120}")
"""A name of a plan: a file of the folder itself."""


class NewPlan(NamedTuple):
    """A plan with its seed, and the pairs that its run reached."""

    scenario: bytes
    seed: int
    pairs: Sequence[str]


class Listing(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The content of `corpus.json`: names of plans, oldest first, and pairs in ascending order."""

    format: str
    plans: list[str]
    pairs: list[str]


class Corpus:
    """A corpus in its folder; a context manager, which one process at a time holds.

    Attributes:
        plans: The plans by name, oldest first.

    Raises:
        UnsuitableFileError: Its listing is not a plain file, or is too long.
        ScenarioError: The folder is not a corpus, or a plan in it is not a scenario.
        InUseError: Another process holds it.
    """

    def __init__(self, folder: Path) -> None:
        self.folder: Final = folder
        with naming(folder):
            make_folder(folder)
        place = resolved(folder)
        with ExitStack() as stack:
            stack.enter_context(held(place.with_name(f".{place.name}.lock"), folder))
            listing = self._read()
            self.plans: Final[dict[str, Plain]] = {name: self._read_plan(name) for name in listing.plans}
            self._pairs = dict.fromkeys(listing.pairs)
            self._hold = stack.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._hold.close()

    @property
    def digest(self) -> str:
        """The SHA-256 of the plans, on which every variant depends."""
        return hashlib.sha256(json.dumps(list(self.plans.items())).encode()).hexdigest()

    def unseen(self, pairs: Sequence[str]) -> list[str]:
        """Return the pairs that no earlier run reached."""
        return [pair for pair in pairs if pair not in self._pairs]

    def keep(self, reached: Sequence[NewPlan]) -> None:
        """Keep the plans that reached an unseen pair, in their order."""
        kept: dict[str, Plain] = {}
        for each in reached:
            if news := self.unseen(each.pairs):
                self._pairs |= dict.fromkeys(news)
                name = self._write(
                    each, [f"Reached {counted(len(news), 'unseen pairs')} of situations, for example", f"  {news[0]}"]
                )
                kept[name] = json.loads(each.scenario)
        if kept:
            # Last: a plan that a killed process wrote without this listing belongs to no corpus.
            self.plans.update(kept)
            listing = Listing(FORMAT, list(self.plans), sorted(self._pairs))
            write_whole(self.folder / LISTING, msgspec.json.format(msgspec.json.encode(listing), indent=1))

    def _write(self, reached: NewPlan, comment: Sequence[str]) -> str:
        scenario = decode_scenario(reached.scenario, f"seed {reached.seed}")
        name = f"{scenario.name}-{reached.seed}-{hashlib.sha256(reached.scenario).hexdigest()[:TAG_DIGITS]}"
        path = self.folder / f"{name}.toml"
        write_whole(path, plan_file(path, scenario, reached.seed, comment))
        return name

    def _read(self) -> Listing:
        path = self.folder / LISTING
        if not path.exists():
            if any(self.folder.iterdir()):
                raise ScenarioError(str(self.folder), f"is not a corpus: it has other files and no {LISTING}")
            return Listing(FORMAT, [], [])
        try:
            listing = msgspec.json.decode(read_plain(path, LISTING_BYTES_MAX), type=Listing)
        except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
            raise ScenarioError(str(path), f"is not a listing of a corpus: {error}") from error
        if listing.format != FORMAT:
            raise ScenarioError(str(path), f"has the format {listing.format!r:.60}; this program reads {FORMAT!r}")
        for name in listing.plans:
            if not _NAME.fullmatch(name):
                raise ScenarioError(str(path), f"{name!r:.60} is not a name of a plan")
        return listing

    def _read_plan(self, name: str) -> Plain:
        plain: Plain = json.loads(encode_scenario(load_scenario(str(self.folder / f"{name}.toml"))))
        return plain


def write_failed(folder: Path, scenario: bytes, seed: int, signature: str) -> None:
    """Write a varied plan whose run did not pass, for `run` to repeat it."""
    comment = ["A variant that did not pass:", f"  {signature[:COMMENT_CHARACTERS_MAX]}"]
    path = failed_plan(folder, seed)
    write_whole(path, plan_file(path, decode_scenario(scenario, f"seed {seed}"), seed, comment))


def failed_plan(folder: Path, seed: int) -> Path:
    """Return the path of the file for a seed's variant that did not pass."""
    return folder / FAILED / f"{VARIED}-{seed}.toml"
