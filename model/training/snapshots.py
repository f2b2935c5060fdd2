"""Probes: what a few sentences looked like at some steps of a training, kept for a later look.

`probes.npz` in a checkpoint's folder holds the steps, the sentences' tokens, the log-probability of every target token
and the pattern of every site, in units of 1/255.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from model.config import END
from model.network.context import Pass, forced
from model.network.transformer import Transformer
from model.text.corpus import DataError
from model.trace import KINDS, Probe, Site

SENTENCES = 12  # the shortest of the file that many are kept
LEVELS = 255


@dataclass(frozen=True)
class Sentence:
    """A source with a target that is held fixed through the training; ids end in `</s>`."""

    name: str
    source_text: str
    target_text: str
    source: tuple[int, ...]
    target: tuple[int, ...]


def read(path: Path) -> list[tuple[str, str, list[str]]]:
    """Name, source and the targets that count as right, of each line NAME TAB SOURCE TAB TARGET|TARGET; # comments.

    Raises DataError with the line's number, or where the file cannot be read.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as fault:
        raise DataError(
            f"{path}: {getattr(fault, 'strerror', None) or fault}; expected a readable file of probes."
        ) from None
    found = []
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        fields = [field.strip() for field in line.split("\t")]
        if len(fields) != 3 or not all(fields):
            raise DataError(f"{path}, line {number}: expected name TAB source TAB targets with | between them.")
        found.append((fields[0], fields[1], fields[2].split("|")))
    if not found:
        raise DataError(f"{path}: no probe in it; expected at least one line of name TAB source TAB target.")
    return found


def steps(total: int, count: int = 28) -> tuple[int, ...]:
    """Step 0 and at most `count` more, from 1 to `total`, evenly spaced on a logarithmic scale."""
    return (0, *sorted({round(total ** (n / (count - 1))) for n in range(count)}))


class SnapshotRecorder:
    """Collects, step by step, what a model does with the sentences. Its state can be stored and taken up again."""

    def __init__(self, sentences: Sequence[Sentence]) -> None:
        shortest = sorted(sentences, key=lambda s: len(s.source) * len(s.target))[:SENTENCES]
        self.sentences = [s for s in sentences if s in shortest]
        self.steps: list[int] = []
        self.arrays: dict[str, list[torch.Tensor]] = {}

    @torch.inference_mode()
    def record(self, step: int, model: Transformer) -> None:
        """Adds the model as it is at a step: float32, without dropout; the model's mode stays."""
        was_training, device = model.training, next(model.parameters()).device
        model.eval()
        for number, sentence in enumerate(self.sentences):
            source = torch.tensor([sentence.source], device=device)
            outputs, probe = torch.tensor([sentence.target], device=device), Probe("maps")
            logits = model.project(forced(model, source, outputs, Pass(probe=probe)))  # [1,T,V]
            log_probs = logits.float().log_softmax(-1).gather(-1, outputs[..., None])[0, :, 0]  # [T]
            self._add(f"log_probs/{number}", log_probs.cpu())
            for kind in model.config.kinds:
                layers = sorted(site for site in probe.records if site.kind == kind)
                patterns = torch.stack([probe.records[site]["pattern"][0] for site in layers])  # [L,H,T,S]
                self._add(f"{kind}/{number}", (patterns * LEVELS).round().byte().cpu())
        self.steps.append(step)
        model.train(was_training)

    def _add(self, key: str, value: torch.Tensor) -> None:
        self.arrays.setdefault(key, []).append(value.clone())

    def state(self) -> dict[str, object]:
        return {"steps": list(self.steps), "arrays": {key: torch.stack(values) for key, values in self.arrays.items()}}

    def restore(self, state: dict[str, object]) -> None:
        self.steps = list(state["steps"])
        self.arrays = {key: list(stacked.unbind()) for key, stacked in state["arrays"].items()}

    def recording(self) -> Recording:
        arrays = {key: torch.stack(values).numpy() for key, values in self.arrays.items()}
        return Recording(tuple(self.sentences), tuple(self.steps), arrays)


@dataclass(frozen=True)
class Recording:
    """What was kept: N steps of a training, for each sentence its log-probabilities and patterns."""

    sentences: tuple[Sentence, ...]
    steps: tuple[int, ...]
    arrays: dict[str, np.ndarray]

    def log_probs(self, sentence: int) -> np.ndarray:
        """Natural log-probability of each target token at each step: [N,T]."""
        return self.arrays[f"log_probs/{sentence}"]

    def losses(self) -> np.ndarray:
        """Nats a token, of each sentence at each step: [N, sentences]."""
        return np.stack([-self.log_probs(n).mean(axis=1) for n in range(len(self.sentences))], axis=1)

    def patterns(self, sentence: int, site: Site) -> np.ndarray:
        """The pattern of each head of a site at each step, to the nearest 1/255: float32 [N,H,T,S]."""
        return self.arrays[f"{site.kind}/{sentence}"][:, site.layer].astype(np.float32) / LEVELS

    def save(self, path: Path) -> None:
        """Writes the file whole, by way of a temporary one."""
        header = {"steps": list(self.steps), "sentences": [vars(s) for s in self.sentences]}
        text = np.frombuffer(json.dumps(header, ensure_ascii=False).encode(), dtype=np.uint8)
        temporary = path.with_name(path.name + ".new")
        with temporary.open("wb") as raw:
            np.savez_compressed(raw, header=text, **self.arrays)
        temporary.replace(path)

    @classmethod
    def load(cls, path: Path) -> Recording:
        """Reads a file of `save`; ValueError, naming it, where it is damaged or incomplete."""
        try:
            with np.load(path, allow_pickle=False) as stored:
                arrays = {key: stored[key] for key in stored.files}
            header = json.loads(arrays.pop("header").tobytes())
            texts = [s | {"source": tuple(s["source"]), "target": tuple(s["target"])} for s in header["sentences"]]
            made = cls(tuple(Sentence(**s) for s in texts), tuple(header["steps"]), arrays)
        except (OSError, ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile) as fault:
            raise ValueError(f"{path} is no readable recording of probes ({fault}); copy the file again.") from None
        for number, sentence in enumerate(made.sentences):
            shape = (len(made.steps), len(sentence.target))
            for key in (f"log_probs/{number}", *(f"{kind}/{number}" for kind in KINDS)):
                if key not in arrays or arrays[key].shape[0] != shape[0]:
                    raise ValueError(f"{path}: {key!r} has no {shape[0]} steps; copy the file again.")
        return made


def encode(probes: Sequence[tuple[str, str, list[str]]], source_tokenizer, target_tokenizer) -> list[Sentence]:
    """Probes with their ids; of several targets the first is held fixed."""
    return [
        Sentence(
            name,
            source,
            targets[0],
            (*source_tokenizer.encode(source), END),
            (*target_tokenizer.encode(targets[0]), END),
        )
        for name, source, targets in probes
    ]
