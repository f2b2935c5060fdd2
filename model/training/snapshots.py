"""Probes: what a few sentences looked like at some steps of a training, kept for a later look (see `recording.py`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import torch

from model.config import END, MAX_CHARACTERS, MAX_TOKENS
from model.files import MEGABYTE, FileError, read_text, shown
from model.network.context import Pass, forced
from model.network.transformer import Transformer
from model.text.corpus import DataError
from model.text.tokenizer import Tokenizer
from model.trace import Probe
from model.training.recording import LEVELS, LOG_PROBS, SENTENCES, Recording, Sentence

MOST = MEGABYTE  # bytes of a file of probes


def read(path: Path) -> list[tuple[str, str, list[str]]]:
    """Name, source and the targets that count as right, of each line NAME TAB SOURCE TAB TARGET|TARGET; # comments.

    Raises DataError with the line's number, or where the file cannot be read.
    """
    form = "name TAB source TAB targets with | between them"
    return [(name, source, targets.split("|")) for name, source, targets in _rows(path, 3, form)]


def read_texts(path: Path) -> list[tuple[str, str]]:
    """Name and text of each line NAME TAB TEXT, for a model without an encoder; errors as `read`."""
    return [(name, text) for name, text in _rows(path, 2, "name TAB text")]


def _rows(path: Path, columns: int, form: str) -> list[list[str]]:
    try:
        lines = read_text(path, MOST).splitlines()
    except (OSError, FileError) as fault:
        reason = f"{path}: {fault.strerror}" if isinstance(fault, OSError) else str(fault)
        raise DataError(f"{reason}; expected a readable file of probes.") from None
    found = []
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        fields = [field.strip() for field in line.split("\t")]
        if len(fields) != columns or not all(fields):
            raise DataError(f"{path}, line {number}: expected {form}.")
        found.append(fields)
    if not found:
        raise DataError(f"{path}: no probe in it; expected at least one line of {form}.")
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
            source = torch.tensor([sentence.source], device=device) if sentence.source else None
            outputs, probe = torch.tensor([sentence.target], device=device), Probe("maps")
            logits = model.project(forced(model, source, outputs, Pass(probe=probe)))  # [1,T,V]
            log_probs = logits.float().log_softmax(-1).gather(-1, outputs[..., None])[0, :, 0]  # [T]
            self._add(f"{LOG_PROBS}/{number}", log_probs.cpu())
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


def encode(
    probes: Sequence[tuple[str, str, list[str]]], source_tokenizer: Tokenizer, target_tokenizer: Tokenizer
) -> list[Sentence]:
    """Probes with their ids; of several targets the first is held fixed. DataError for one that is over the text limit."""
    found = []
    for name, source, targets in probes:
        if max(len(source), len(targets[0])) > MAX_CHARACTERS:
            raise DataError(f"the probe {shown(name)} has more than {MAX_CHARACTERS:,} characters; shorten it.")
        ids = [(*t.encode(text), END) for t, text in ((source_tokenizer, source), (target_tokenizer, targets[0]))]
        if max(map(len, ids)) > MAX_TOKENS:
            raise DataError(f"the probe {shown(name)} has more than {MAX_TOKENS} tokens on a side; shorten it.")
        found.append(Sentence(name, source, targets[0], *ids))
    return found


def encode_texts(texts: Sequence[tuple[str, str]], tokenizer: Tokenizer) -> list[Sentence]:
    """Texts with their ids, without a source; errors as `encode`."""
    made = encode([(name, text, [text]) for name, text in texts], tokenizer, tokenizer)
    return [replace(sentence, source_text="", source=()) for sentence in made]
