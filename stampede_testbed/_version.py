"""The version, read from a file beside the test bed's packages."""

from typing import Final

from stampede_testbed._command import app_directory

__version__: Final = (app_directory() / "VERSION").read_text(encoding="ascii").strip()
