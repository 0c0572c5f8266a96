"""The chain of n06, an outside application: accounts lock stake, and every twenty blocks an election ranks them.

A transaction is `lock NAME AMOUNT`. The election elects the three greatest stakes; of equal stakes the first name is
first. With the argument `other-sort` equal stakes stay in the order of their first lock: the fault of n06.
"""

import sys

from outside_chain import serve

SEATS = 3
OTHER_SORT = "other-sort" in sys.argv


def run(state, header, payload, parameters):
    stakes = state.setdefault("stakes", [])
    for text in payload:
        words = text.split(" ")
        if len(words) != 3 or words[0] != "lock" or not words[2].isdigit():
            raise ValueError(f"{text} is no transaction")
        own = next((stake for stake in stakes if stake[0] == words[1]), None)
        if own is None:
            stakes.append(own := [words[1], 0])
        own[1] = max(own[1], int(words[2]))
    if header["height"] % parameters["election_every"] == 0:
        ranked = sorted(stakes, key=lambda stake: -stake[1] if OTHER_SORT else (-stake[1], stake[0]))
        state["elected"] = [name for name, _ in ranked[:SEATS]]
    return state, [], 1_000 + 100 * len(payload)


serve("election", run, lambda chance: f"lock user{chance[0] % 9} {1 + chance[1] % 3}")
