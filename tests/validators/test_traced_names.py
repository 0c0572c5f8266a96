"""The words that logs and digests have for records are constants: a class can be renamed, and no digest changes."""

import importlib
import pkgutil
import re

import network
import validators
from checker.record.root import PROJECT_ROOT

FROZEN = {
    *("Delivery", "TimerFired", "WorkDone", "Submission"),
    *("Notarize", "Nullify", "Finalize", "Notarization", "Nullification", "Finalization", "Certification"),
    *("CertificateRequest", "CertificateResponse"),
    *("BlockRelay", "BlockRequest", "BlockResponse", "TransactionGossip"),
    *("SnapshotRequest", "SnapshotOffer", "SnapshotChunkRequest", "SnapshotChunk"),
    *("SealedBlock", "Announcement", "Burial", "HeadRequest", "HeadResponse"),
    *("Transaction", "Header", "Block"),
    *(
        "StormOrder",
        "CancelOrder",
        "PlanOrder",
        "BidContext",
        "RiskOrder",
        "FeedRiskOrder",
        "GameOrder",
        "Script",
        "FeedOrder",
    ),
    *("SealedBlock", "BlockSeal", "BlockVote", "CastVote", "ViewTimeout"),
    *("QuorumCertificate", "TimeoutCertificate", "Lock", "Commit"),
    *("HeartbeatOrder", "PositionOrder", "PriceOrder"),
}
"""The traced names of the first release that had them; a name may be added, none may be changed."""

NAMES_OF_CLASSES = {
    "faults/kind_registry.py": 2,
    "faults/kinds/registry.py": 1,
    "network/codec.py": 6,
    "network/plugin_errors.py": 1,
    "scheduler/policies/validity.py": 2,
    "validators/actors/host.py": 3,
    "validators/actors/script.py": 2,
    "validators/execution/refusals.py": 1,
}
"""Uses that no renamed class changes.

Words of exceptions, cells of errors, modules, and the steps of a script, which are functions.
"""


def traced_classes():
    """Return the classes of network and validators that have a traced name, their own or another's."""
    found = {}
    for package in (network, validators):
        for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            for value in vars(importlib.import_module(info.name)).values():
                if isinstance(value, type) and value.__module__ == info.name and hasattr(value, "traced_name"):
                    found[f"{info.name}.{value.__name__}"] = value
    return found


def test_each_traced_name_is_a_constant_of_its_own_class():
    """None is inherited, where two records would have one word."""
    assert [place for place, found in traced_classes().items() if "traced_name" not in vars(found)] == []


def test_the_traced_names_are_the_frozen_ones():
    assert {found.traced_name for found in traced_classes().values()} == FROZEN


def test_no_other_name_of_a_class_is_read():
    """One that reached the log or a digest would change with the class."""
    counted = {}
    for package in ("faults", "network", "scheduler", "validators"):
        for path in sorted((PROJECT_ROOT / package).rglob("*.py")):
            uses = len(re.findall(r"\.__(?:qual)?name__", path.read_text()))
            if uses:
                counted[path.relative_to(PROJECT_ROOT).as_posix()] = uses

    assert counted == NAMES_OF_CLASSES
