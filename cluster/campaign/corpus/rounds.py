"""The scenarios of a campaign with a corpus, in rounds: the swarm draws even seeds, odd seeds vary a plan.

All seeds of a round see the corpus as it was before the round. When all results of the round have arrived, new plans
enter the corpus in the order of their seeds. So a scenario depends on the corpus and its seed alone, not on the number
of worker processes or the order of results. A round is finished before the next round begins.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from cluster.campaign.corpus.folder import Corpus, NewPlan, write_failed
from cluster.campaign.corpus.variation import vary
from cluster.campaign.results_db import SeedResult

ROUND_SEEDS: Final = 20
"""Seeds after which plans that reached an unseen pair enter the corpus."""


def is_varied(seed: int) -> bool:
    """Whether a seed's scenario is varied from a corpus."""
    return seed % 2 == 1


class CorpusPlans:
    """The scenarios of a campaign with a corpus.

    Args:
        corpus: The corpus.
        draw: Returns the scenario of a seed as the swarm draws it, encoded.
        settings: Keys with values that every scenario has.
    """

    def __init__(self, corpus: Corpus, draw: Callable[[int], bytes], settings: Sequence[str] = ()) -> None:
        self._corpus = corpus
        self._draw = draw
        self._settings = settings
        self._results: list[SeedResult] = []

    def scenario_of(self, seed: int) -> bytes:
        """Return the scenario of a seed in the present round, encoded."""
        return vary(self._corpus.plans, seed, self._settings) if is_varied(seed) else self._draw(seed)

    def note(self, scenario: bytes, result: SeedResult) -> None:
        """Note a new result of the present round; keep a varied plan that did not pass, so that it can be repeated."""
        self._results.append(result)
        if result.exit_code and is_varied(result.seed):
            write_failed(self._corpus.folder, scenario, result.seed, result.signature)

    def finish(self, earlier: Sequence[SeedResult] = ()) -> None:
        """Keep the plans of a round that reached an unseen pair and passed: variants of a failed plan fail again.

        `earlier` results of the round were in the results file before the sweep went on.
        """
        results = sorted([*earlier, *self._results])
        self._results.clear()
        passed = [result for result in results if not result.exit_code and self._corpus.unseen(result.pairs)]
        # All scenarios are made before the corpus changes, because they depend on it.
        self._corpus.keep([NewPlan(self.scenario_of(each.seed), each.seed, each.pairs) for each in passed])


def rounds(seeds: Sequence[int], count: int = ROUND_SEEDS) -> Iterator[Sequence[int]]:
    """Yield the seeds of each round."""
    return (seeds[start : start + count] for start in range(0, len(seeds), count))
