from __future__ import annotations

import numpy as np
import pytest
import torch

from model.config import END, MAX_TOKENS, START
from model.network import masks
from model.network.context import Pass
from model.text.corpus import DataError
from model.text.probes import read_probes
from model.text.tokenizer import Tokenizer
from model.trace import Probe
from model.training import snapshots
from model.training.recording import Recording
from model.training.snapshots import SnapshotRecorder, steps
from tests.support import tiny


@pytest.fixture
def recorder(exact_checkpoint) -> SnapshotRecorder:
    """Three steps of a model that changes in between."""
    tokenizer = exact_checkpoint.source_tokenizer
    listed = [(str(n), s, [t, "another"]) for n, (s, t) in enumerate(tiny.PAIRS[:3])]
    made = SnapshotRecorder(snapshots.encode(listed, tokenizer, tokenizer))
    for seed, step in enumerate((0, 1, 8)):
        made.record(step, tiny.checkpoint(tokenizer, seed).model)
    return made


@pytest.fixture(scope="module")
def blanked() -> Tokenizer:
    return Tokenizer.train(tiny.SENTENCES, 400, blanks=True)


def test_what_is_recorded_is_what_the_model_computes(recorder, exact_checkpoint):
    model = tiny.checkpoint(exact_checkpoint.source_tokenizer, 1).model
    recording = recorder.recording()
    for number, sentence in enumerate(recording.sentences):
        source, inputs = torch.tensor([sentence.source]), torch.tensor([[START, *sentence.target[:-1]]])
        assert sentence.source[-1] == sentence.target[-1] == END
        probe = Probe("maps")
        log_probs = model(source, inputs, masks.build(model.config, source, inputs), Pass(probe=probe))[0].log_softmax(-1)
        expected = log_probs[torch.arange(inputs.size(1)), list(sentence.target)].numpy()
        np.testing.assert_allclose(recording.log_probs(number)[1], expected, atol=1e-5)
        for site in probe.records:
            found = recording.patterns(number, site)[1]
            np.testing.assert_allclose(found, probe.array(site, "pattern"), atol=0.5 / 255 + 1e-6)
            assert found.dtype == np.float32
    assert recording.losses().shape == (3, 3)
    assert recording.losses()[1, 2] == pytest.approx(-recording.log_probs(2)[1].mean())


def test_where_blanks_are_filled_in_the_loss_is_of_the_blanks_alone(blanked):
    sentences = snapshots.encode_blanks(
        [("one", "The red [fox] sees a lamp."), ("two", "The [red fox] sees.")], blanked, True
    )
    for each in sentences:
        assert each.fills and each.asked == tuple(n for n, id in enumerate(each.source) if id == blanked.mask)
    rows = [np.log(np.linspace(0.1, 0.9, each.told, dtype=np.float32))[None] for each in sentences]
    recording = Recording(tuple(sentences), (0,), {f"log_probs/{n}": row for n, row in enumerate(rows)})
    expected = [-np.mean([row[0, n] for n in each.asked]) for row, each in zip(rows, sentences, strict=True)]
    np.testing.assert_allclose(recording.losses(), [expected], rtol=1e-6)
    plain = snapshots.encode([("plain", "The red fox.", ["The red fox."])], blanked, blanked)[0]
    assert not plain.fills and plain.asked == tuple(range(len(plain.target)))


def test_a_file_gives_back_what_was_saved(recorder, tmp_path):
    one = recorder.recording()
    one.save(tmp_path / "probes.npz")
    two = Recording.load(tmp_path / "probes.npz")
    assert (two.sentences, two.steps) == (one.sentences, one.steps)
    assert {k: v.tobytes() for k, v in two.arrays.items()} == {k: v.tobytes() for k, v in one.arrays.items()}
    assert [p.name for p in tmp_path.iterdir()] == ["probes.npz"]


def test_a_recorder_goes_on_from_its_state(recorder, exact_checkpoint):
    other = SnapshotRecorder(recorder.sentences)
    other.restore(recorder.state())
    for each in (recorder, other):
        each.record(20, exact_checkpoint.model.float())
    one, two = recorder.recording(), other.recording()
    assert two.steps == (0, 1, 8, 20)
    assert all(one.arrays[key].tobytes() == two.arrays[key].tobytes() for key in one.arrays)
    exact_checkpoint.model.double()


def test_recording_leaves_the_model_and_the_random_state_alone(recorder, tokenizer):
    model = tiny.checkpoint(tokenizer, dropout=0.5).model.train()
    before = torch.get_rng_state()
    recorder.record(9, model)
    assert model.training
    assert torch.get_rng_state().equal(before)
    recorder.record(10, model)
    assert recorder.arrays["cross/0"][-1].equal(recorder.arrays["cross/0"][-2])  # without dropout


@pytest.mark.parametrize("total", [1, 2, 30, 1000, 21080])
def test_steps_are_spaced_by_their_logarithm(total):
    found = steps(total)
    assert found[0] == 0
    assert found[1] == 1
    assert found[-1] == total
    assert sorted(set(found)) == list(found)
    if total >= 1000:
        assert len(found) > 40
        late = np.diff(np.log([s for s in found if s > 150]))  # where half a step is little
        assert late.max() < 1.1 * late.min()


def test_the_shortest_sentences_are_kept_in_the_order_of_the_file(tokenizer):
    listed = [(str(n), "boat " * (1 + n * 7 % 20), ["nefa"]) for n in range(20)]
    kept = SnapshotRecorder(snapshots.encode(listed, tokenizer, tokenizer)).sentences
    assert len(kept) == 12
    assert [s.name for s in kept] == sorted((s.name for s in kept), key=int)
    assert max(s.source_text.count("boat") for s in kept) == 12
    texts = [(name, source) for name, source, _ in listed]  # of which one side is empty
    judged = snapshots.encode_judged(texts, tokenizer, ("good", "bad"), start=True)
    for one_sided in (judged, snapshots.encode_texts(texts, tokenizer)):
        assert [s.name for s in SnapshotRecorder(one_sided).sentences] == [s.name for s in kept]
    wide = tiny.config(family="encoder-only", decoder_layers=0, encoder_layers=6, d_model=64, heads=64)
    few = SnapshotRecorder(judged, None, wide).sentences  # no room for all: the longest go
    assert 1 < len(few) < 12
    longest_kept = max(len(s.source) for s in few)
    assert all(len(s.source) >= longest_kept for s in judged if s not in few)


def test_a_probe_has_room_for_all_that_is_read_of_it(blanked):
    """What a text begins and ends with counts as well."""
    for most in (MAX_TOKENS - 2, MAX_TOKENS - 1):
        text = "boat" + " boat" * (most - len(blanked.encode("boat")))
        assert len(blanked.encode(text)) == most
        makes = (
            lambda text=text: snapshots.encode_judged([("long", text)], blanked, ("good", "bad"), start=True),
            lambda text=text: snapshots.encode_blanks([("long", f"[boat]{text[4:]}")], blanked, start=True),
        )
        for make in makes:
            if most == MAX_TOKENS - 2:
                assert len(make()[0].source) == MAX_TOKENS
            else:
                with pytest.raises(DataError, match=f"more than {MAX_TOKENS} tokens"):
                    make()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a\tb\n", r"line 1: expected name TAB source TAB targets with \| between them"),
        ("# comment\n\na\tb\tc\nd\t\te\n", "line 4: expected name TAB source"),
        ("# nothing\n", "no probe in it"),
        ("a\tb\t|\n", "line 1: expected name TAB source"),
        ("a\tb\tc\nd\te\t" + "{f/g}" * 10 + "\n", "line 2: {a/b} makes more than 1,000 targets"),
        ("a\tb\t" + "{c/d}" * 3000 + "\n", "line 1: {a/b} makes more than 1,000 targets"),  # a number too long to be written
    ],
)
def test_a_bad_file_of_probes_is_told(tmp_path, text, message):
    path = tmp_path / "probes.txt"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=message):
        read_probes(path)
    with pytest.raises(DataError, match="No such file"):
        read_probes(tmp_path / "nowhere.txt")


def test_what_stands_in_braces_is_a_choice_and_nothing_else_is(tmp_path):
    path = tmp_path / "probes.txt"
    lines = ("a\tb\tIl {est/était} {/très }tard.|Tard", "c\td\t{e} f/g {h | i}", "j\tk\t" + "|".join(map(str, range(2000))))
    path.write_text("\n".join(lines), encoding="utf-8")
    (*_, some), (*_, plain), (*_, many) = read_probes(path)
    assert some == ["Il est tard.", "Il est très tard.", "Il était tard.", "Il était très tard.", "Tard"]
    assert plain == ["{e} f/g {h", "i}"] and len(many) == 2000


def test_a_damaged_recording_is_told(recorder, tmp_path):
    path = tmp_path / "probes.npz"
    recorder.recording().save(path)
    whole = path.read_bytes()
    for content in (b"", b"nonsense", whole[: len(whole) // 2]):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=r"probes.npz is no readable recording of probes"):
            Recording.load(path)
    short = recorder.recording()
    short.arrays["cross/1"] = short.arrays["cross/1"][:2]
    short.save(path)
    with pytest.raises(ValueError, match=r"'cross/1' has the shape \(2, .*; expected \(3, "):
        Recording.load(path)
