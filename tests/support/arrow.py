"""A library that stands in for pyarrow, which is an extra: a file holds the magic bytes, then its groups as JSON."""

import json
import sys
from types import ModuleType

MAGIC = b"PAR1"


class Whole:
    """The type of a column of whole numbers from `low` up to, but not including, `end`."""

    def __init__(self, low, end):
        self.low, self.end = low, end

    def __contains__(self, value):
        # A range would be walked through in search of a text.
        return isinstance(value, int) and self.low <= value < self.end


class Floats:
    """The type of a column of floats, which may have places without a value."""

    def __contains__(self, value):
        return value is None or type(value) is float


def rows_of(path):
    """Return the rows of a file that the stand-in has written."""
    groups = path.read_bytes().removeprefix(MAGIC).splitlines()
    return [row for group in groups for row in json.loads(group)]


def stand_in_for_arrow(monkeypatch):
    """Put the library in place, and return the sizes of the groups of each file, by name, as they are written."""
    written = {}

    class Table:
        def __init__(self, rows, schema):
            self.rows, self.schema = rows, schema
            for name, kind in schema:
                assert kind is str or all(row[name] in kind for row in rows), f"{name} has no room"

        @classmethod
        def from_pylist(cls, rows, schema):
            return cls(rows, schema)

    class ParquetWriter:
        def __init__(self, path, schema):
            self.path, self.schema = path, schema
            written[path.name] = []
            path.write_bytes(MAGIC)

        def __enter__(self):
            return self

        def __exit__(self, *_):
            self.close()

        def write_table(self, table):
            assert table.schema == self.schema
            written[self.path.name].append(len(table.rows))
            with self.path.open("ab") as file:
                file.write(json.dumps(table.rows).encode() + b"\n")

        def close(self):
            pass

    arrow, parquet = ModuleType("pyarrow"), ModuleType("pyarrow.parquet")
    arrow.Table, parquet.ParquetWriter = Table, ParquetWriter
    arrow.schema, arrow.string = list, lambda: str
    arrow.int64, arrow.uint64 = lambda: Whole(-(1 << 63), 1 << 63), lambda: Whole(0, 1 << 64)
    arrow.float64 = Floats
    monkeypatch.setitem(sys.modules, "pyarrow", arrow)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", parquet)
    return written
