"""The checker's names of the state's tables, which it keeps without the engine's schema."""

from checker.tables import TABLE_NAMES, describe_key
from validators.execution.schema import all_tables


def test_every_table_of_the_state_has_the_checker_s_name():
    assert {code: table.name for code, table in all_tables().items()} == TABLE_NAMES


def test_a_key_of_every_table_is_described_by_its_name():
    keys = {code: bytes((code,)).ljust(32, b"\1") for code in all_tables()}

    assert [code for code, key in keys.items() if not describe_key(key).startswith(TABLE_NAMES[code])] == []
