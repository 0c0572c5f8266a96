"""The JSON schema of scenario files, made from the types that read them, for editors that complete and check TOML."""

from typing import Any, Final

import msgspec

from cluster.scenario.model import scenario_type

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"

_PYTHON_END: Final = r"\Z"
"""The end of a text in Python's regular expressions; a schema has ECMA-262 expressions, with `$` instead."""


def scenario_schema() -> dict[str, Any]:
    """Return the schema of a scenario with the built-in kinds."""
    schema = msgspec.json.schema(scenario_type())
    return {"$schema": DIALECT, "title": "Stampede scenario", **_with_patterns(schema)}


def _with_patterns(value: Any) -> Any:  # noqa: ANN401 - plain data
    if isinstance(value, dict):
        found = {key: _with_patterns(inner) for key, inner in value.items()}
        if isinstance(pattern := found.get("pattern"), str):
            found["pattern"] = pattern.replace(_PYTHON_END, "$")
        return found
    return [_with_patterns(inner) for inner in value] if isinstance(value, list) else value
