"""Tables: what is written as CSV is read back by csv, number by number, and nothing of it is a formula."""

from __future__ import annotations

import csv
import io
import math

import numpy as np
import pytest

from model.export.tables import CELLS, Table, cells_table
from model.inference.analyse import analyse
from model.inference.request import Request
from tests.support import tiny


def rows_of(content: bytes) -> list[list[str]]:
    return list(csv.reader(io.StringIO(content.decode("utf-8-sig"), newline="")))


def test_texts_numbers_and_blanks_are_read_back():
    odd = ('a "b", c', "two\nlines", "é→ñ 🦉", "", " x", "<s>")
    numbers = (0.1, -0.5, np.float32(0.1), np.float32(-1e-7), 3, True, None, math.nan, -math.inf)
    table = Table("x", tuple(map(str, range(len(odd) + len(numbers)))), ((*odd, *numbers),))
    raw = table.csv()
    assert raw.startswith(b"\xef\xbb\xbf0,1,") and raw.endswith(b"\r\n")
    (row,) = rows_of(raw)[1:]
    assert tuple(row[: len(odd)]) == odd
    assert row[len(odd) :] == ["0.1", "-0.5", "0.1", "-1e-07", "3", "TRUE", "", "", ""]
    assert np.float32(row[len(odd) + 2]) == np.float32(0.1)


@pytest.mark.parametrize("typed", ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "＝1"])
def test_no_typed_text_is_a_formula(typed):
    ((found,), (cell,)) = rows_of(Table("x", (typed,), ((typed,),)).csv())
    assert found == cell == "'" + typed


def test_a_row_of_another_length_is_refused():
    with pytest.raises(ValueError, match="row 2 of x has 1 cells; expected 2"):
        Table("x", ("a", "b"), ((1, 2), (1,)))


def test_the_cells_of_maps_are_those_of_the_trace(tiny_checkpoint):
    trace = analyse(tiny_checkpoint, Request("The red fox.", intervention=tiny.edited("block_cross.1.2_2-2"))).trace
    site = trace.sites("cross")[0]
    table = cells_table(trace, {site: [1]})
    view = trace.view(site, 1)
    assert table.columns == CELLS
    assert len(table.rows) == view.values.size
    for kind, layer, head, i, query, j, key, allowed, score, weight in table.rows:
        assert (kind, layer, head) == ("cross", 1, 2)
        assert (query, key) == (view.queries[i - 1], view.keys[j - 1])
        assert (allowed, weight) == (view.allowed[i - 1, j - 1], view.values[i - 1, j - 1])
        assert score == trace.scores[site][1, i - 1, j - 1]
    assert not all(row[7] for row in table.rows)
