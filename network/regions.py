"""Cloud regions and the latencies between them: a public table, for clusters that span the world.

Source: IBM Cloud VPC, "Network latency dashboards", average latency in ms between regions from 3 Feb 2024 to 3 Mar 2024
(repository ibm-cloud-docs/vpc, file _include-segments/network-latency.md). Its values are times of round trips: London
to Frankfurt is given as 12 ms, more than light in fibre needs there and back. The two directions of a pair differ by 4
ms at most in the source; the row that comes first is taken. Times within a region are times between its zones, 0.6 to
2.9 ms in the source, here 2 ms.

A message takes half a round trip, which is a whole number of microseconds for each entry.
"""

from typing import Final, Literal, TypeAlias, get_args

from network.types import Micros

Region: TypeAlias = Literal[
    "dallas", "toronto", "washington", "frankfurt", "london", "madrid", "osaka", "sydney", "tokyo", "sao-paulo"
]
"""A region's name in scenario files."""

REGIONS: Final[tuple[Region, ...]] = get_args(Region)

ROUND_TRIPS_MS: Final = (
    (2,),
    (34, 2),
    (32, 19, 2),
    (123, 92, 98, 2),
    (113, 82, 75, 12, 2),
    (118, 107, 87, 29, 26, 2),
    (149, 170, 174, 242, 253, 268, 2),
    (185, 215, 215, 260, 272, 281, 124, 2),
    (142, 162, 167, 237, 247, 260, 9, 117, 2),
    (144, 130, 119, 196, 186, 205, 293, 329, 286, 2),
)
"""Round-trip times in ms, by the places of two regions in `REGIONS`, the later region first."""

_HALF_MILLISECOND_US: Final = 500


def one_way_us(first: Region, second: Region) -> Micros:
    """Return the average latency of a message from one region to the other."""
    low, high = sorted((REGIONS.index(first), REGIONS.index(second)))
    return ROUND_TRIPS_MS[high][low] * _HALF_MILLISECOND_US
