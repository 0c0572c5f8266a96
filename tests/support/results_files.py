"""Rows of a sweep's results file."""

import sqlite3


def count_rows(path):
    try:
        return len(read_rows(path))
    except sqlite3.OperationalError:
        return 0


def read_rows(path):
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as connection:
        rows = connection.execute("SELECT * FROM results ORDER BY seed").fetchall()
    connection.close()
    return rows
