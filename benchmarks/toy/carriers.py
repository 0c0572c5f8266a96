"""The carriers of the toy by name, each with its module in this folder."""

from typing import Final

CARRIERS: Final = {
    "stampede": "stampede",
    "stampede, no trace": "untraced",
    "simpy": "with_simpy",
    "seedloop": "with_seedloop",
    "simloop": "with_simloop",
    "simloom": "with_simloom",
}
"""Stampede first; of the others those that are not installed are left out, by name."""
