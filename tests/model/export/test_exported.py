"""An exported analysis is read back equal; other files are refused."""

from __future__ import annotations

import dataclasses
import io
import json
import resource
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

from model.decoding.strategy import Decoding
from model.export import Exported, analysis_files, read, schema, write
from model.inference.analyse import analyse
from model.inference.request import Request
from model.trace import Site
from tests.support import tiny

TEXT = "The red fox takes a lamp."
SHORT = Decoding(max_total_tokens=6)
ROOT = Path(__file__).resolve().parents[3]
ASKED = {  # how: changes of the model, and the request
    "plain": ({}, Request(TEXT, decoding=SHORT)),
    "given target": ({"positions": "rotary", "activation": "swiglu"}, Request(TEXT, target="Lo varun — « déjà »")),
    "beam": (
        {"positions": "learned", "norm_first": False},
        Request(TEXT, decoding=Decoding("beam", max_total_tokens=6, width=3)),
    ),
    "sampled, a prefix, padding, a batch": (
        {"norm": "rmsnorm", "window": 3},
        Request(
            TEXT,
            prefix="Lo",
            other_sentences=(tiny.OTHER, "A."),
            extra_padding=2,
            decoding=Decoding("sample", max_total_tokens=6, seed=4),
        ),
    ),
    "edits, with masks of single heads": (
        {},
        Request(TEXT, decoding=SHORT, intervention=tiny.edited("block_cross.1.2_2-2", "off_enc.2", "patch_enc.1_3")),
    ),
    "decoded again without the mask": (
        {},
        Request(TEXT, mode="again", decoding=SHORT, intervention=tiny.edited("causal-off", "window-2")),
    ),
    "never masked": ({"causal": False}, Request(TEXT, decoding=SHORT)),
    "an encoder alone": (
        {"family": "encoder-only", "decoder_layers": 0},
        Request(TEXT, intervention=tiny.edited("off_enc.1.2")),
    ),
    "a decoder alone": (
        {"family": "decoder-only", "encoder_layers": 0},
        Request(TEXT, decoding=Decoding(max_total_tokens=14)),
    ),
}


def exported(tokenizer, how: str = "edits, with masks of single heads") -> Exported:
    changes, request = ASKED[how]
    checkpoint = tiny.checkpoint(tokenizer, **changes)
    return Exported.of(checkpoint, analyse(checkpoint, request))


def test_a_stored_request_has_the_names_of_the_fields():
    stored = schema.request_values(Request("A", max_tokens=9, source_ids=(3,), target_ids=(4,)))
    assert {*stored} == {field.name for field in dataclasses.fields(Request)} - {"intervention"} | {"edits"}
    assert [*stored["decoding"]] == [field.name for field in dataclasses.fields(Decoding)]


@pytest.mark.parametrize("how", ASKED)
@pytest.mark.parametrize("suffix", analysis_files.FORMATS)
def test_what_is_read_equals_what_was_written(tokenizer, tmp_path, how, suffix):
    made, path = exported(tokenizer, how), tmp_path / f"x{suffix}"
    write(made, path)
    found = read(path)
    assert found == made == read(path.read_bytes())
    changes, request = ASKED[how]
    checkpoint = tiny.checkpoint(tokenizer, **changes)
    assert found.request == dataclasses.replace(request, checkpoint=checkpoint.name)
    assert Exported.of(checkpoint, analyse(checkpoint, found.request)) == made
    assert [each.name for each in tmp_path.iterdir()] == [path.name]
    assert found != dataclasses.replace(made, fingerprint="other")
    site = next(iter(made.patterns))
    moved = {**made.patterns, site: made.patterns[site] + np.float32(1e-7)}
    assert found != dataclasses.replace(made, patterns=moved)


def test_the_page_of_the_format_says_what_is_written(tokenizer):
    assert schema.tables() in (ROOT / "docs/export.md").read_text(encoding="utf-8")
    made = exported(tokenizer)
    with np.load(io.BytesIO(analysis_files.npz(made)), allow_pickle=False) as stored:
        header = json.loads(stored[analysis_files.HEADER_ARRAY].tobytes())
        kinds = {name: stored[name].dtype for name in stored.files if name != analysis_files.HEADER_ARRAY}
    assert set(header) == {*schema.FILE, *schema.HEADER}
    assert set(header["baseline"]) == set(schema.HEADER)
    declared = {name: array.kind for name, array in (schema.ARRAYS | schema.STEPS).items()}
    names = {name.removeprefix(schema.BEFORE): kind for name, kind in kinds.items()}
    assert {declared.get(n, declared.get(n.split(".")[0])) == kind for n, kind in names.items()} == {True}
    written = json.loads(analysis_files.as_json(made))
    assert set(written) == {*header, "arrays"} and set(written["arrays"]) == set(kinds)


def changed(made: Exported, **changes) -> bytes:
    return json.dumps(json.loads(analysis_files.as_json(made)) | changes).encode()


def zipped(**arrays) -> bytes:
    raw = io.BytesIO()
    np.savez(raw, **arrays)
    return raw.getvalue()


def test_foreign_or_damaged_file_is_refused(tokenizer, tmp_path):
    made = exported(tokenizer, "plain")
    arrays = json.loads(analysis_files.as_json(made))["arrays"]
    raw = analysis_files.npz(made)
    pattern = arrays["pattern.cross.0"]
    foreign = "is no exported analysis; expected a .npz or .json file of the lab"
    for content, message in {
        b"": "is no readable exported analysis",
        b"{}": foreign,
        b"[1]": foreign,
        b'{"format": "x", "arrays": {}}': foreign,
        changed(made, version=3): "is of version 3 of the format; expected 2. Take a newer version of the lab",
        changed(made, version=True): "is of version True of the format; expected 2. Export it again",
        zipped(x=np.zeros(3)): "the file is another .npz",
        zipped(header=np.array([{}], dtype=object)): "is no readable exported analysis",
        raw[: len(raw) // 2]: "is no readable exported analysis",
        changed(made, arrays=arrays | {"more": [1]}): "the array 'more' is unknown",
        changed(made, arrays={n: a for n, a in arrays.items() if n != "log_probs"}): "the array 'log_probs' is missing",
        changed(
            made, arrays=arrays | {"pattern.cross.0": pattern[:1]}
        ): "the file is no readable exported analysis (pattern.cross.0 has the shape",
        changed(made, arrays=arrays | {"log_probs": ["0"] * 6}): "log_probs has the shape",
        changed(made, arrays=arrays | {"log_probs": [1e300] * 6}): "log_probs holds a number that is too large",
        changed(made, arrays=arrays | {"candidates.ids": [[2**40] * 10] * 6}): "candidates.ids holds a number",
        changed(made, chosen=9): "the chosen hypothesis is 9",
        changed(made, surprise=1): "the key 'surprise' is unknown",
        changed(made, sites=[{"kind": "cross", "layer": 10**9, "heads": 2}]): "the site ('cross', 1000000000) is unknown",
        changed(made, request={}): "the request lacks a field",
        changed(made, source={"ids": [1], "labels": [], "words": []}): "differ in number",
    }.items():
        with pytest.raises(ValueError, match=r"^the file") as told:
            read(content)
        assert message in str(told.value) and "\n" not in str(told.value)
    (tmp_path / "x.npz").write_bytes(b"PK")
    with pytest.raises(ValueError, match=r"x.npz is no readable exported analysis"):
        read(tmp_path / "x.npz")


def test_file_that_claims_a_huge_size_is_refused(tokenizer):
    with zipfile.ZipFile(io.BytesIO(analysis_files.npz(exported(tokenizer, "plain")))) as archive:
        kept = {name: archive.read(name) for name in archive.namelist()}
    head = io.BytesIO()
    np.lib.format.write_array_header_1_0(head, {"descr": "<f4", "fortran_order": False, "shape": (1 << 40,)})
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w") as archive:
        for name, content in (kept | {"log_probs.npy": head.getvalue()}).items():
            archive.writestr(name, content)
    with pytest.raises(ValueError, match=r"log_probs has the shape \(1099511627776,\)"):
        read(raw.getvalue())


def test_a_disk_that_is_full_leaves_nothing_behind(tmp_path):
    path = str(tmp_path / "x.npz")
    code = f"from pathlib import Path; from model.io.files import write_new; write_new(Path({path!r}), b'x' * 9000)"
    done = subprocess.run(
        [sys.executable, "-B", "-c", f"import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); {code}"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000)),
    )
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].endswith("x.npz cannot be written: File too large")
    assert list(tmp_path.iterdir()) == []


def test_maps_of_an_export_have_the_labels_of_the_trace(tokenizer):
    changes, request = ASKED["edits, with masks of single heads"]
    checkpoint = tiny.checkpoint(tokenizer, **changes)
    analysis = analyse(checkpoint, request)
    found = read(analysis_files.npz(Exported.of(checkpoint, analysis)))
    for site in analysis.trace.patterns:
        for head in (None, 0, 1):
            one, two = found.pattern(site, head), analysis.trace.view(site, head)
            assert (one.queries, one.keys) == (two.queries, two.keys)
            assert np.array_equal(one.values, two.values) and np.array_equal(one.allowed, two.allowed)
    assert np.array_equal(found.log_probs, analysis.trace.token_log_probs)
    assert found.baseline is not None and found.baseline.request.intervention == type(request.intervention)()
    with pytest.raises(ValueError, match=r"there is no cross layer 7; this trace has layers \[0, 1\]"):
        found.pattern(Site("cross", 7), 0)
