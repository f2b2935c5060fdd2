"""Recorded results of the network: logits, full probes and hypotheses for each variant, edit and search, and an analysis.

Tests compare with tolerances. `python -m tests.support.recorded write|compare FILE` compares two runs exactly.
Without FILE, `write` replaces the recording that the tests use.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import torch

from model.decoding import fast
from model.decoding.hypotheses import Hypothesis, Tree
from model.decoding.search import beam, greedy, sample
from model.decoding.strategy import Decoding
from model.edits.apply import BatchEdits
from model.edits.intervention import BASELINE
from model.inference.analyse import analyse
from model.inference.request import Request
from model.network import masks
from model.network.context import Pass
from model.text.tokenizer import Tokenizer
from model.trace import Probe
from tests.support import tiny

FILE = Path(__file__).with_name("recorded.npz")
VARIANTS: dict[str, dict[str, Any]] = {
    "pre-norm": {},
    "post-norm": {"norm_first": False},
    "rmsnorm": {"norm": "rmsnorm"},
    "gelu": {"activation": "gelu"},
    "swiglu": {"activation": "swiglu"},
    "learned": {"positions": "learned"},
    "rotary": {"positions": "rotary"},
    "no final norm": {"final_norm": False},
    "window": {"window": 3},
    "no causal mask": {"causal": False},
    "two tables": {"joint_vocab": False, "tied_output": False},
    "as in 2017": {"norm_first": False, "final_norm": False, "heads": 4},
    "modern": {"norm": "rmsnorm", "activation": "swiglu", "positions": "rotary", "heads": 1, "decoder_layers": 1},
}
EDITS = (
    *("", "block_enc.1.2_2-3", "block_dec_3-2", "block_dec.1_all-1", "block_cross_2-all", "block_cross.1.1_all-2"),
    *("row_enc_2-1", "row_dec.1.1_3-1", "row_dec_3-uniform", "row_cross.1_2-3", "row_cross.1.1_4-uniform"),
    *("off_enc.1", "off_dec.1.1", "off_cross.1.1", "mean_enc.2", "mean_dec.1", "mean_cross"),
    *("skip_enc.1.self", "skip_enc.2.ff", "skip_dec.1.self", "skip_dec.1.cross", "skip_dec.1.ff"),
    *("source-positions_off", "source-positions_shuffled-2", "source-positions_shifted-4"),
    *("target-positions_off", "target-positions_shuffled-3", "target-positions_shifted-5"),
    *("causal-off", "padding-off", "scaling-off", "window-2"),
    "row_dec_3-uniform off_cross.1 source-positions_off causal-off",
)
_MAPS = ("scores", "pattern", "mask", "q", "k", "v", "z")
ORDER = {  # in which the tensors of a site were recorded
    "encoder": (*_MAPS, "residual_in", "residual_mid", "residual_out"),
    "decoder": (*_MAPS, "residual_in", "residual_out"),
    "cross": (*_MAPS, "residual_in", "residual_mid", "residual_out"),
}
SOURCE, TARGET = tiny.padded([5], 6), tiny.target_ids(1, 5)


def passes(name: str) -> Iterator[tuple[str, np.ndarray, dict[str, np.ndarray]]]:
    """Of one variant under every edit: logits [T,V], and everything that a full probe keeps by site and name."""
    model = tiny.model(**VARIANTS[name])
    means = tiny.means(model.config)
    for codes in EDITS:
        edit, probe = tiny.edited(*codes.split()), Probe("full")
        seen = masks.build(model.config, SOURCE, TARGET, [edit])
        with torch.inference_mode():
            logits = model(SOURCE, TARGET, seen, Pass(BatchEdits([edit], means), probe))[0]
        records = tiny.records(probe)
        arrays = {f"{s.kind}.{s.layer}.{key}": records[s][key][0].numpy() for s in sorted(records) for key in ORDER[s.kind]}
        yield codes, logits.numpy(), arrays


def explicit() -> AbstractContextManager:
    """Everything is computed by the explicit path, which is what is recorded; the fast one is compared with it."""
    return mock.patch.object(fast, "can_decode", lambda *_: False)


def paths(decoded: Hypothesis | Tree) -> list:
    """Returns the tokens of every path, and their log-probabilities, to five places."""
    every = [decoded] if isinstance(decoded, Hypothesis) else [*decoded, *decoded.pruned]
    return [(path.ids, [round(p, 5) for p in path.log_probs]) for path in every]


def decodings(name: str) -> Iterator[tuple[str, list[Any]]]:
    """Yields the hypotheses of greedy decoding, beam search and sampling for two sentences, with and without the cache."""
    model, source = tiny.lively(**VARIANTS[name]), tiny.padded([6, 4], 6)
    means = tiny.means(model.config)
    for codes in ("", "off_cross.1", "target-positions_shuffled-3", "causal-off", "block_dec_3-2"):
        edits = BatchEdits([tiny.edited(*codes.split()), BASELINE], means)
        for cached in (True, False):
            more = {"edits": edits, "max_total_tokens": 7, "use_cache": cached}
            yield f"greedy {codes} {cached}", [(h.ids, h.log_probs) for h in greedy(model, source, **more)]
            trees = beam(model, source, 3, 1.0, **more)
            yield f"beam {codes} {cached}", [(h.ids, h.log_probs) for tree in trees for h in (*tree, *tree.pruned)]
            samples = sample(model, source, 5, 0.9, 20, 0.9, **more)
            yield f"sample {codes} {cached}", [(h.ids, h.log_probs) for h in samples]


def analyses() -> Iterator[tuple[str, dict[str, np.ndarray]]]:
    """Every array of an analysis, in both modes under every edit, with each strategy."""
    tokenizer = Tokenizer.train(tiny.SENTENCES, 320)
    for name in ("pre-norm", "rotary", "no causal mask"):
        lab = tiny.with_means(tiny.checkpoint(tokenizer, **VARIANTS[name]))
        for codes in EDITS:
            for mode in ("given", "again"):
                for how in ("greedy", "beam", "sample") if mode == "again" else ("greedy",):
                    decoding = Decoding(how, max_total_tokens=6, width=2, seed=3)
                    edit = tiny.edited(*codes.split())
                    request = Request("The red fox sees a lamp.", decoding=decoding, mode=mode, intervention=edit)
                    analysis = analyse(lab, request)
                    arrays = {}
                    for title, trace in (("", analysis.trace), ("whole ", analysis.full_pass)):
                        for what in ("patterns", "scores", "masks", "head_masks"):
                            arrays |= {f"{title}{what} {s}": a for s, a in sorted(getattr(trace, what).items())}
                        arrays |= {f"{title}log_probs": trace.log_probs, f"{title}totals": trace.logit_normalizers}
                        arrays[f"{title}ids"] = np.array(trace.outputs.ids)
                    yield f"{name} {codes} {mode} {how}", arrays


def projected(arrays: dict[str, np.ndarray]) -> np.ndarray:
    """One number an array: a seeded weighted sum."""
    sums = []
    for number, array in enumerate(arrays.values()):
        weights = np.random.default_rng(number).standard_normal(array.size)
        sums.append(float(np.where(np.isfinite(array.ravel()), array.ravel(), 0.0) @ weights))
    return np.array(sums)


def present() -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Returns the values, and the names and shapes of the weights and the hypotheses of every search."""
    values: dict[str, np.ndarray] = {}
    structure: dict[str, Any] = {"decodings": {}, "weights": {}}
    for name, changes in VARIANTS.items():
        structure["weights"][name] = {key: list(t.shape) for key, t in tiny.model(**changes).state_dict().items()}
        logits, sums = [], []
        for _, row, arrays in passes(name):
            logits.append(row)
            sums.append(projected(arrays))
        values[f"logits {name}"], values[f"sums {name}"] = np.stack(logits), np.stack(sums)
        structure["decodings"][name] = {
            key: [[list(ids), [round(p, 9) for p in log_probs]] for ids, log_probs in hypotheses]
            for key, hypotheses in decodings(name)
        }
    for key, arrays in analyses():
        values[f"analysis {key}"] = projected(arrays)
    return values, structure


def recorded(file: Path = FILE) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Returns what `present` returned when the file was written."""
    with np.load(file, allow_pickle=False) as stored:
        values = {key: stored[key] for key in stored.files}
    return values, json.loads(values.pop("told").tobytes())


def main(command: str, file: Path = FILE) -> int:
    torch.set_num_threads(1)
    with explicit():
        values, structure = present()
    if command == "write":
        text = np.frombuffer(json.dumps(structure, separators=(",", ":")).encode(), np.uint8)
        np.savez_compressed(file, told=text, **values)
        print(f"{file.stat().st_size:,} bytes")
        return 0
    before, structure_before = recorded(file)
    different = [key for key in before if key not in values or not np.array_equal(before[key], values[key], equal_nan=True)]
    different += [part for part in structure_before if structure[part] != structure_before[part]]
    print(
        f"{len(different)} of {len(before) + len(structure_before)} groups differ from {file.name}",
        *different[:20],
        sep="\n",
    )
    return int(bool(different))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], *map(Path, sys.argv[2:])))
