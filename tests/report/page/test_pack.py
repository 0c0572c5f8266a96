"""The data of a page as text: what goes in comes out, and nothing but the data decides the bytes."""

import re
from array import array

from report.page.pack import pack, unpack

HEAD = {"name": "</script><script>alert(1)</script>", "numbers": [1, 2]}
ARRAYS = {"bytes": array("B", [1, 2, 255]), "floats": array("d", [0.5]), "words": array("I", [7, 1 << 31])}


def test_what_is_packed_comes_out_again():
    assert unpack(pack(HEAD, ARRAYS)) == (HEAD, ARRAYS)


def test_the_same_data_have_the_same_text():
    assert pack(HEAD, ARRAYS) == pack(dict(HEAD), dict(ARRAYS))


def test_the_text_has_no_letter_that_html_reads():
    assert re.fullmatch(r"[A-Za-z0-9+/=]+", pack(HEAD, ARRAYS))
