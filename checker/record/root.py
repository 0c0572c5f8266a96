"""The folder of the project's packages and scenarios; only this module knows how deep a file is."""

from pathlib import Path
from typing import Final

PROJECT_ROOT: Final = Path(__file__).resolve().parents[2]
