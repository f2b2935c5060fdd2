"""Every kind of edit: its code, its text, what it refuses, and what it contradicts."""

from __future__ import annotations

import itertools

import pytest

from model.edits.kinds import (
    MAX_SEED,
    MAX_SHIFT,
    Ablate,
    Block,
    EditError,
    Labels,
    PatchRow,
    Place,
    Positions,
    Skip,
    contradict,
    ordinal,
    parse,
)

PLACES = [Place("encoder"), Place("decoder", 0), Place("cross", 2, 4), Place("encoder", 11, 0)]
CELLS = [(0, 0), (8, None), (None, 1), (127, 126)]
SUBLAYERS = [("encoder", "self"), ("encoder", "ff"), ("decoder", "self"), ("decoder", "cross"), ("decoder", "ff")]
AMOUNTS = [("off", 0), ("shuffled", 0), ("shuffled", MAX_SEED), ("shifted", 1), ("shifted", MAX_SHIFT)]
EVERY = [
    *(Block(place, *cell) for place in PLACES for cell in CELLS),
    *(PatchRow(place, query, key) for place in PLACES for query, key in ((0, None), (3, 0), (127, 127))),
    *(Ablate(place, how) for place in PLACES for how in ("zero", "mean")),
    *(Skip(stack, layer, sublayer) for stack, sublayer in SUBLAYERS for layer in (0, 3)),
    *(Positions(side, how, amount) for side in ("source", "target") for how, amount in AMOUNTS),
]
LABELS = Labels(("The", "cat", "</s>"), ("<s>", "Le"), ("Le", "chat"))
TEXTS = [
    (
        "block_enc.1.2_1-2",
        "encoder, layer 1, head 2: token 1 sees no token 2",
        "encoder, layer 1, head 2: The sees no cat",
    ),
    (
        "block_cross_2-all",
        "cross-attention, all layers: step 2 sees nothing",
        "cross-attention, all layers: Le → chat sees nothing",
    ),
    ("block_dec.3_all-1", "decoder, layer 3: no one sees token 1", "decoder, layer 3: no one sees <s>"),
    ("block_dec_9-2", "decoder, all layers: step 9 sees no token 2", "decoder, all layers: step 9 sees no Le"),
    (
        "row_cross.3.5_1-uniform",
        "cross-attention, layer 3, head 5: step 1 looks evenly at all that it may see",
        "cross-attention, layer 3, head 5: <s> → Le looks evenly at all that it may see",
    ),
    ("row_enc_3-2", "encoder, all layers: token 3 looks at token 2 alone", "encoder, all layers: </s> looks at cat alone"),
    ("off_cross.3.5", "cross-attention, layer 3, head 5: off", None),
    ("mean_enc.2", "encoder, layer 2: mean instead", None),
    ("skip_enc.1.self", "encoder, layer 1: self-attention skipped", None),
    ("skip_dec.2.cross", "decoder, layer 2: cross-attention skipped", None),
    ("skip_dec.12.ff", "decoder, layer 12: feed-forward skipped", None),
    ("source-positions_off", "source: positions off", None),
    ("target-positions_shuffled-7", "target: positions shuffled, seed 7", None),
    ("source-positions_shifted-3", "source: positions shifted by 3", None),
]


@pytest.mark.parametrize("edit", EVERY, ids=lambda edit: edit.code)
def test_a_code_is_read_back(edit):
    assert parse(edit.code) == edit


def test_different_edits_have_different_codes_and_texts():
    assert (
        len({edit.code for edit in EVERY}) == len({edit.text(Labels()) for edit in EVERY}) == len(set(EVERY)) == len(EVERY)
    )


@pytest.mark.parametrize(("code", "plain", "labelled"), TEXTS)
def test_an_edit_is_told_in_words(code, plain, labelled):
    edit = parse(code)
    assert edit.code == code
    assert edit.text(Labels()) == plain
    assert edit.text(LABELS) == (labelled or plain)


REPEATED = Labels(("the", "dog", "sees", "the", "dog"), ("<s>", "le", "le", "le"), ("le", "le", "le", "</s>"))


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("block_enc_1-4", "encoder, all layers: the (1st) sees no the (2nd)"),
        ("block_enc_3-5", "encoder, all layers: sees sees no dog (2nd)"),
        ("block_dec_3-2", "decoder, all layers: le → le (2nd) sees no le (1st)"),
        ("block_cross_4-3", "cross-attention, all layers: le → </s> sees no sees"),
        ("row_cross.1_2-5", "cross-attention, layer 1: le → le (1st) looks at dog (2nd) alone"),
    ],
)
def test_a_token_that_stands_twice_is_told_with_which_of_them_it_is(code, expected):
    assert parse(code).text(REPEATED) == expected


def test_different_cells_are_told_differently_however_often_a_token_stands_there():
    for kind, rows, columns in (("encoder", 5, 5), ("decoder", 4, 4), ("cross", 4, 5)):
        texts = {Block(Place(kind), i, j).text(REPEATED) for i in range(rows) for j in range(columns)}
        assert len(texts) == rows * columns


def test_ordinals():
    found = [ordinal(n) for n in (1, 2, 3, 4, 10, 11, 12, 13, 21, 22, 23, 101, 111, 112)]
    assert " ".join(found) == "1st 2nd 3rd 4th 10th 11th 12th 13th 21st 22nd 23rd 101st 111th 112th"


def test_numbers_count_from_one_in_codes_and_from_zero_inside():
    assert parse("block_cross.3.5_4-2") == Block(Place("cross", 2, 4), 3, 1)
    assert parse("row_dec.1_128-uniform") == PatchRow(Place("decoder", 0), 127, None)
    assert parse("skip_enc.2.ff") == Skip("encoder", 1, "ff")
    assert parse("target-positions_shifted-2") == Positions("target", "shifted", 2)


@pytest.mark.parametrize(
    "code",
    [
        "",
        "nonsense",
        "off_encoder.1",
        "off_cross.1.2.3",
        "OFF_cross.1",
        "off_cross.1 ",
        "off_cross.-1",
        "off_cross.1000",
        "off_.1.2",
        "block_enc_1",
        "block_enc_uniform-1",
        "row_enc_all-1",
        "row_enc_1-all",
        "skip_enc.1.cross",
        "skip_dec.1",
        "skip_cross.1.ff",
        "source-positions_off-1",
        "source-positions_shuffled",
        "source-positions_shifted--1",
        "middle-positions_off",
        "off_cross.1,off_cross.2",
        "off_cross.1\n",
    ],
)
def test_a_bad_code_is_refused(code):
    with pytest.raises(
        EditError, match=r"is no edit; expected one such as off_cross\.3\.5 or block_enc_9-2\.$|has no sub-layer"
    ):
        parse(code)


def test_of_a_long_bad_code_the_beginning_is_told():
    with pytest.raises(EditError, match=r"^“x{40}” is no edit"):
        parse("x" * 400)


@pytest.mark.parametrize(
    "code",
    ["off_enc.0", "mean_cross.1.0", "block_dec_0-1", "block_dec_1-0", "row_enc_0-uniform", "row_enc_1-0", "skip_dec.0.ff"],
)
def test_number_zero_is_refused(code):
    with pytest.raises(EditError, match=r"^An edit names number 0; expected numbers from 1\.$"):
        parse(code)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Place("middle"), r"^The kind of attention is 'middle'; expected encoder, decoder or cross\.$"),
        (lambda: Place("cross", None, 2), r"^A head is named without its layer; expected both\.$"),
        (
            lambda: parse("block_enc.1_all-all"),
            r"^A block names neither a row nor a column; expected one of them, or both\.$",
        ),
        (lambda: Ablate(PLACES[0], "noise"), r"^The kind of ablation is 'noise'; expected 'zero' or 'mean'\.$"),
        (lambda: Skip("cross", 0, "ff"), r"^The stack is 'cross'; expected 'encoder' or 'decoder'\.$"),
        (
            lambda: Skip("encoder", 0, "cross"),
            r"^The encoder has no sub-layer 'cross'; expected self, ff, or cross in a deco",
        ),
        (
            lambda: Skip("decoder", 0, "norm"),
            r"^The decoder has no sub-layer 'norm'; expected self, ff, or cross in a decoder",
        ),
        (lambda: Positions("both", "off"), r"^Positions cannot be 'off' on 'both'; expected off, shuffled or shifted\.$"),
        (
            lambda: Positions("source", "moved"),
            r"^Positions cannot be 'moved' on 'source'; expected off, shuffled or shifted",
        ),
        (
            lambda: parse("source-positions_shifted-257"),
            r"^The shift of the source's positions is 257; expected 0 to 256\.$",
        ),
        (lambda: Positions("target", "shifted", -1), r"^The shift of the target's positions is -1; expected 0 to 256\.$"),
        (
            lambda: Positions("target", "shuffled", 10000),
            r"^The seed of the target's positions is 10000; expected 0 to 9999",
        ),
        (lambda: Positions("source", "off", 1), r"^The shift of the source's positions is 1; expected 0 to 0\.$"),
    ],
)
def test_what_is_out_of_range_is_told(make, message):
    with pytest.raises(EditError, match=message):
        make()


def test_an_edit_error_is_a_value_error():
    assert issubclass(EditError, ValueError)


@pytest.mark.parametrize(
    ("one", "two", "expected"),
    [
        ("source-positions_off", "source-positions_shuffled-1", True),
        ("source-positions_shuffled-1", "source-positions_shuffled-2", True),
        ("source-positions_off", "target-positions_off", False),
        ("off_cross.3.5", "mean_cross.3.5", True),
        ("off_cross.3", "mean_cross.3.5", True),
        ("mean_cross", "off_cross.3.5", True),
        ("off_cross.3.5", "mean_cross.3.6", False),
        ("off_cross.3.5", "mean_cross.2.5", False),
        ("off_enc.3", "mean_cross.3", False),
        ("off_cross.3", "off_cross.3.5", False),
        ("row_enc_2-1", "row_enc.1.1_2-uniform", True),
        ("row_enc_2-1", "row_enc_3-1", False),
        ("row_enc.1.1_2-1", "row_enc.1.2_2-3", False),
        ("row_enc_2-1", "block_enc_2-1", True),
        ("row_enc_2-1", "block_enc.2.1_all-1", True),
        ("row_enc_2-1", "block_enc_2-all", True),
        ("row_enc_2-uniform", "block_enc.1_2-all", True),
        ("row_enc_2-uniform", "block_enc_2-1", False),
        ("row_enc_2-1", "block_enc_3-1", False),
        ("row_enc_2-1", "block_enc_2-3", False),
        ("row_enc_2-1", "block_dec_2-1", False),
        ("block_enc_2-1", "block_enc_2-all", False),
        ("skip_enc.1.self", "skip_enc.1.ff", False),
        ("off_enc.1", "skip_enc.1.self", False),
    ],
)
def test_what_contradicts_what(one, two, expected):
    assert contradict(parse(one), parse(two)) is contradict(parse(two), parse(one)) is expected


def test_places_meet_where_they_share_a_head():
    named = [
        Place("cross"),
        Place("cross", 1),
        Place("cross", 1, 0),
        Place("cross", 1, 1),
        Place("cross", 2, 0),
        Place("encoder"),
    ]
    meeting = {(a, b) for a, b in itertools.combinations(range(6), 2) if named[a].meets(named[b])}
    assert meeting == {(0, 1), (0, 2), (0, 3), (0, 4), (1, 2), (1, 3)}
    assert all(named[b].meets(named[a]) for a, b in meeting)


def test_a_place_contains_its_own_and_smaller_ones():
    named = [Place("cross"), Place("cross", 1), Place("cross", 1, 0), Place("cross", 2, 0), Place("encoder")]
    found = {(a, b) for a, b in itertools.permutations(range(5), 2) if named[a].contains(named[b])}
    assert found == {(0, 1), (0, 2), (0, 3), (1, 2)}
    assert all(place.contains(place) for place in named)


def test_a_place_covers_its_layers():
    found = [
        (kind, layer) for kind in ("encoder", "cross") for layer in range(3) if Place("cross", 1, 0).covers(kind, layer)
    ]
    assert found == [("cross", 1)]
    assert [layer for layer in range(3) if Place("cross").covers("cross", layer)] == [0, 1, 2]
