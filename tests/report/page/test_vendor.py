"""Files of others in the tree: what was taken is what stands there, with its licence and version."""

import hashlib

import pytest

from report.page.render import UPLOT


@pytest.mark.parametrize("name", ["uPlot.iife.min.js", "uPlot.min.css"])
def test_a_vendored_file_has_the_hash_that_stands_beside_it(name):
    sums = dict(line.split()[::-1] for line in (UPLOT / "SHA256SUMS").read_text().splitlines())

    assert hashlib.sha256((UPLOT / name).read_bytes()).hexdigest() == sums[name]


def test_the_version_is_that_of_the_file():
    version = (UPLOT / "VERSION").read_text().strip()

    assert version.encode() in (UPLOT / "uPlot.iife.min.js").read_bytes()[:400]


def test_the_licence_stands_beside_it():
    assert "Permission is hereby granted, free of charge" in (UPLOT / "LICENSE").read_text()
