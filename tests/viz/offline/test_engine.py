"""The engine in JavaScript gives the numbers of torch: maps and probabilities within 1e-4, tokens and paths exactly."""

from __future__ import annotations

import base64
import json
import subprocess
from pathlib import Path

import numpy as np
import playwright
import pytest

from model import Analysis, Decoding, Request, Site, analyse
from model.checkpoint import find_folder
from model.export.schema import intervention
from tests.support import tiny
from tests.support.viz_helpers import ROOT

NODE = Path(playwright.__file__).parent / "driver" / "node"
BOUND = 1e-4
EDITS = (
    *(
        "causal-off",
        "padding-off",
        "scaling-off",
        "window-3",
        "off_cross.3.5",
        "off_dec.2",
        "off_enc",
        "scale_cross.3.5_0.5",
    ),
    *("scale_dec_2", "block_enc_9-2", "block_cross.2_2-all", "block_dec_all-1", "block_enc.1.2_all-3", "row_cross.3.5_4-2"),
    *(
        "row_dec.1_3-uniform",
        "row_enc.2.1_2-1",
        "skip_enc.2.self",
        "skip_dec.1.cross",
        "skip_dec.4.ff",
        "source-positions_off",
    ),
    *("target-positions_shifted-5", "off_cross.3.5~block_enc_9-2~causal-off"),
)
SENTENCE = "The dog didn't eat the apple because it was too hard."
FRENCH = "Le chien n'a pas mangé la pomme parce qu'elle était trop dure."
ODD = (  # texts that a tokenizer may divide in another way
    *(
        "",
        " ",
        "  two  spaces ",
        "\u00a0\u2003x\u0085y\ufeffz",
        "don't DON'T l'ami L'été qu'il aujourd'hui rock'n'roll 'tis dogs'",
    ),
    *(
        "1234567 3.14 ½ ٣",
        "tab\tnew\nline\r\n",
        "café cafe\u0301 ﬁ Å",
        "😀👩‍👩‍👧 漢字 العربية",
        "</s><pad><s> \x00\x07 _a_b-c",
        "’tis l’ami",
    ),
)


def sentences(count: int) -> list[str]:
    """Sentences of the project, as students type them."""
    lines = (ROOT / "checkpoints" / "typed.txt").read_text(encoding="utf-8").splitlines()
    return [line.split("\t")[1] for line in lines if line and not line.startswith("#")][:count]


def run(folder: Path, requests: list[dict], texts: list[str] | tuple[str, ...] = ()) -> dict:
    """Returns the results of requests and the tokens of texts."""
    command = [NODE, str(ROOT / "tests" / "support" / "run_engine.mjs"), str(folder)]
    given = json.dumps({"requests": requests, "texts": [*texts]})
    done = subprocess.run(command, input=given, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def array(packed: dict) -> np.ndarray:
    return np.frombuffer(base64.b64decode(packed["data"]), np.float32).reshape(packed["shape"])


def difference(found: dict, analysis: Analysis) -> float:
    """Returns the largest difference of a probability or a weight. Tokens, paths and masks are equal."""
    trace = analysis.trace
    assert found["source"] == list(trace.source.ids) and found["target"] == list(trace.outputs.ids)
    assert {Site(*site): None for site in sites(found)}.keys() == trace.patterns.keys()
    worst = float(np.abs(np.exp(found["log_probs"]) - np.exp(trace.token_log_probs)).max())
    for row, top in zip(trace.log_probs, found["top"], strict=True):
        ids, values = zip(*top, strict=True)
        worst = max(worst, float(np.abs(np.exp(values) - np.exp(row[list(ids)])).max()))
    for (kind, layer), name in sites(found).items():
        site = Site(kind, layer)
        worst = max(worst, float(np.abs(array(found["patterns"][name]) - trace.patterns[site]).max()))
        view = np.stack([trace.view(site, head).allowed for head in range(len(trace.patterns[site]))])
        assert (array(found["allowed"][name]).astype(bool) == view).all(), name
    return worst


def sites(found: dict) -> dict[tuple[str, int], str]:
    return {(name.split()[0], int(name.split()[1])): name for name in found["patterns"]}


def requests(count: int) -> list[tuple[dict, Request]]:
    """Requests of the engine and of Python: sentences, searches, forced beginnings and edits, given and decoded again."""
    texts = sentences(count)
    pairs: list[tuple[dict, Request]] = [({"text": text}, Request(text)) for text in texts]
    pairs += [({"text": text, "width": 4}, Request(text, decoding=Decoding("beam"))) for text in texts[::10]]
    pairs += [({"text": SENTENCE, "prefix": "La fille"}, Request(SENTENCE, prefix="La fille"))]
    for number, codes in enumerate(EDITS):
        edits = intervention(codes.split("~"))
        engine = {"text": SENTENCE, "edits": codes.split("~")}
        if number % 2:
            pairs.append((engine, Request(SENTENCE, mode="again", intervention=edits)))
        else:
            pairs.append((engine | {"target": FRENCH}, Request(SENTENCE, target=FRENCH, intervention=edits)))
    return pairs


@pytest.mark.parametrize("count", [10, pytest.param(50, marks=pytest.mark.long)])
def test_the_engine_equals_torch(shipped, count):
    pairs = requests(count)
    results = run(find_folder("en-fr"), [engine for engine, _ in pairs])["results"]
    worst = 0.0
    for (engine, request), found in zip(pairs, results, strict=True):
        analysis = analyse(shipped, request)
        assert "fault" not in found, (engine, found)
        assert found["text"] == analysis.translation, engine
        assert found["labels"] == list(analysis.trace.outputs.labels)
        assert found["words"] == list(analysis.trace.outputs.word_numbers)
        if "width" in engine:
            assert [tuple(ids) for ids in found["hypotheses"]] == [path.ids for path in analysis.tree.hypotheses], engine
            assert {tuple(ids) for ids in found["pruned"]} == {path.ids for path in analysis.tree.pruned}, engine
        size = difference(found, analysis)
        assert size < BOUND, (engine, size)
        worst = max(worst, size)
    assert worst > 0  # different arithmetic


def test_the_tokenizer_equals_that_of_python(shipped):
    texts = [*ODD, *sentences(100), *(pair[1] for pair in tiny.PAIRS[:20])]
    tokenizer = shipped.target_tokenizer
    for text, (ids, decoded, labels, words, segments) in zip(
        texts, run(find_folder("en-fr"), [], texts)["tokens"], strict=True
    ):
        assert ids == tokenizer.encode(text), text
        assert decoded == tokenizer.decode(ids), text
        assert (tuple(labels), tuple(words)) == (tokenizer.pieces(ids), tokenizer.word_numbers(ids)), text
        assert segments == tokenizer.segments(ids), text


def test_what_the_engine_cannot_do_is_one_sentence():
    codes = ("mean_enc.2.2", "source-positions_shuffled-2", "patch_enc.2_6", "off_middle", "row_enc_2-99")
    results = run(find_folder("en-fr"), [{"text": SENTENCE, "edits": [code]} for code in codes])["results"]
    for code, found in zip(codes, results, strict=True):
        assert found["fault"].endswith(".") and len(found["fault"]) < 120, code
