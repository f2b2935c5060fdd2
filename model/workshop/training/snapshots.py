"""Recorder of probes: sentences whose maps and outputs are saved at some training steps (see `recording.py`).

The outputs are translations, continuations, filled blanks and labels.
"""

from __future__ import annotations

import copy
import hashlib
import json
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import torch

from ...config import CONTROL_TOKENS, END, MAX_CHARACTERS, MAX_TOKENS, START, ModelConfig
from ...decoding.search import greedy
from ...io.files import short_repr
from ...network.context import Pass, teacher_forced_states
from ...network.transformer import Transformer
from ...text.tokenizer import Tokenizer
from ...trace import Probe
from ..corpus.corpus import DataError, pad
from .recording import LEVELS, LOG_PROBS, MAX_OUTPUT_CHARACTERS, MAX_SENTENCES, ProbeSentence, Recording, array_shapes

MAX_STEP_WEIGHTS = 160_000  # of attention in one step; forty such steps take less than 4 MB
SampleWriter = Callable[[Transformer, Sequence[ProbeSentence]], list[str]]  # one output a sentence


def snapshot_steps(total: int, count: int = 44) -> tuple[int, ...]:
    """Returns step 0 and at least `count` steps from 1 to `total`, spaced logarithmically; all steps if there are fewer."""
    points = count
    while len(numbers := {round(total ** (n / (points - 1))) for n in range(points)}) < min(count, total):
        points += 1
    return (0, *sorted(numbers))


def digest(sentences: Sequence[ProbeSentence]) -> str:
    """Returns the SHA-256 of the recorded sentences: texts, ids and labels."""
    fields = [(s.name, s.source_text, s.target_text, s.source, s.target, s.labels) for s in sentences]
    return hashlib.sha256(json.dumps(fields).encode()).hexdigest()


class SnapshotRecorder:
    """Records the model's results on the sentences at some steps. Its state can be saved and restored."""

    def __init__(
        self,
        sentences: Sequence[ProbeSentence],
        write_samples: SampleWriter | None = None,
        config: ModelConfig | None = None,
    ) -> None:
        """Keeps the shortest sentences, and as many as the size limit for maps of `config` allows.

        `write_samples` computes the model's outputs for the sentences.
        """
        shortest = sorted(sentences, key=lambda s: max(1, len(s.source)) * max(1, len(s.target)))[:MAX_SENTENCES]
        while config is not None and len(shortest) > 1 and _weight_count(shortest, config) > MAX_STEP_WEIGHTS:
            shortest.pop()
        self.sentences = [s for s in sentences if s in shortest]
        self.write_samples = write_samples
        self.steps: list[int] = []
        self.arrays: dict[str, list[torch.Tensor]] = {}
        self.outputs: list[list[str]] = []

    @torch.inference_mode()
    def record(self, step: int, model: Transformer) -> None:
        """Records the model at a step: float32, without dropout. The model keeps its mode."""
        was_training = model.training
        model.eval()
        for number, sentence in enumerate(self.sentences):
            log_probs, probe = _read_sentence(model, sentence)
            self._add(f"{LOG_PROBS}/{number}", log_probs.cpu())
            for kind in model.config.kinds:
                layers = sorted(site for site in probe.records if site.kind == kind)
                patterns = torch.stack([probe.records[site]["pattern"][0] for site in layers])  # [L,H,T,S]
                self._add(f"{kind}/{number}", (patterns * LEVELS).round().byte().cpu())
        with torch.inference_mode(False):  # a copy: the caches of decoding do not notice the steps of fused Adam
            still = copy.deepcopy(model) if self.write_samples else model
        texts = self.write_samples(still, self.sentences) if self.write_samples else [""] * len(self.sentences)
        self.outputs.append([text[:MAX_OUTPUT_CHARACTERS] for text in texts])
        self.steps.append(step)
        model.train(was_training)

    def _add(self, key: str, value: torch.Tensor) -> None:
        self.arrays.setdefault(key, []).append(value.clone())

    def state(self) -> dict[str, object]:
        arrays = {key: torch.stack(values) for key, values in self.arrays.items()}
        return {"steps": list(self.steps), "arrays": arrays, "written": [list(texts) for texts in self.outputs]}

    def restore(self, state: dict[str, object]) -> None:
        """Restores a state. Outputs are empty if an older state lacks them."""
        self.steps = list(state["steps"])
        self.arrays = {key: list(stacked.unbind()) for key, stacked in state["arrays"].items()}
        self.outputs = [list(texts) for texts in state.get("written", [[""] * len(self.sentences)] * len(self.steps))]

    def recording(self) -> Recording:
        arrays = {key: torch.stack(values).numpy() for key, values in self.arrays.items()}
        return Recording(tuple(self.sentences), tuple(self.steps), arrays, tuple(map(tuple, self.outputs)))


def _weight_count(sentences: Sequence[ProbeSentence], config: ModelConfig) -> int:
    """Returns the number of attention weights of a model over all sentences."""
    sizes = {kind: (layers, config.heads) for kind, layers in config.layers.items()}
    arrays = array_shapes(sentences, sizes, 1)
    return sum(math.prod(shape) for key, shape in arrays.items() if not key.startswith(LOG_PROBS))


def _read_sentence(model: Transformer, sentence: ProbeSentence) -> tuple[torch.Tensor, Probe]:
    """Runs a teacher-forced pass. Returns the log-probability of each target token, or label, and the maps."""
    device, probe, reads = next(model.parameters()).device, Probe("maps"), "encoder" in model.config.kinds
    source = torch.tensor([sentence.source], device=device) if reads else None
    target = torch.tensor([sentence.target], device=device)
    hidden = teacher_forced_states(model, source, target if "decoder" in model.config.kinds else None, Pass(probe=probe))
    if sentence.labels:
        return model.label_logits(hidden, source).float().log_softmax(-1)[0], probe  # [C]
    return model.project(hidden).float().log_softmax(-1).gather(-1, target[..., None])[0, :, 0], probe  # [T]


def encode_probes(
    probes: Sequence[tuple[str, str, list[str]]], source_tokenizer: Tokenizer, target_tokenizer: Tokenizer
) -> list[ProbeSentence]:
    """Returns probes with their ids. The first of several targets is used.

    Raises DataError for a probe over the text limit.
    """
    sentences = []
    for name, source, targets in probes:
        _check_characters(name, source, targets[0])
        ids = [(*t.encode(text), END) for t, text in ((source_tokenizer, source), (target_tokenizer, targets[0]))]
        _check_length(name, *ids)
        tokens = [t.pieces(each) for t, each in zip((source_tokenizer, target_tokenizer), ids, strict=True)]
        sentences.append(ProbeSentence(name, source, targets[0], *ids, *tokens))
    return sentences


def _check_characters(name: str, *texts: str) -> None:
    if max(map(len, texts)) > MAX_CHARACTERS:
        raise DataError(f"the probe {short_repr(name)} has more than {MAX_CHARACTERS:,} characters; shorten it.")


def _check_length(name: str, *sides: Sequence[int]) -> None:
    if max(map(len, sides)) > MAX_TOKENS:
        raise DataError(f"the probe {short_repr(name)} has more than {MAX_TOKENS} tokens on a side; shorten it.")


def encode_texts(texts: Sequence[tuple[str, str]], tokenizer: Tokenizer) -> list[ProbeSentence]:
    """Returns texts with their ids, without a source. Errors as in `encode_probes`."""
    sentences = encode_probes([(name, text, [text]) for name, text in texts], tokenizer, tokenizer)
    return [replace(sentence, source_text="", source=(), source_tokens=()) for sentence in sentences]


def encode_labelled(
    texts: Sequence[tuple[str, str]], tokenizer: Tokenizer, labels: Sequence[str], start: bool
) -> list[ProbeSentence]:
    """Returns texts to classify, with labels instead of a target. With `start` a text begins with `<s>`.

    Errors as in `encode_probes`.
    """
    sentences = encode_probes([(name, text, [""]) for name, text in texts], tokenizer, tokenizer)
    head = [START] if start else []
    sources = [(*head, *sentence.source) for sentence in sentences]
    for sentence, ids in zip(sentences, sources, strict=True):
        _check_length(sentence.name, ids)
    return [
        replace(each, target=(), target_tokens=(), source=ids, source_tokens=tokenizer.pieces(ids), labels=tuple(labels))
        for each, ids in zip(sentences, sources, strict=True)
    ]


def encode_blanks(texts: Sequence[tuple[str, str]], tokenizer: Tokenizer, start: bool) -> list[ProbeSentence]:
    """Returns texts whose word in [brackets] is a blank in the source; the target is the full text, token by token.

    Errors as in `encode_probes`. Raises DataError without brackets, and for a vocabulary without a blank.
    """
    sentences = []
    for name, text in texts:
        before, opened, rest = text.partition("[")
        word, closed, after = rest.partition("]")
        if not (word.strip() and opened and closed) or tokenizer.mask is None:
            raise DataError(f"the probe {short_repr(name)} has no word in [brackets]; expected one as the blank.")
        _check_characters(name, text)
        space = " " if before.endswith(" ") else ""
        parts = [tokenizer.encode(part) for part in (before.removesuffix(" "), space + word, after)]
        head, tail = [START] if start else [], [END]
        source = (*head, *parts[0], *[tokenizer.mask] * len(parts[1]), *parts[2], *tail)
        target = (*head, *parts[0], *parts[1], *parts[2], *tail)
        _check_length(name, target)
        plain = f"{before}{word}{after}"
        texts_read = f"{before}___{after}", plain
        sentences.append(
            ProbeSentence(name, *texts_read, source, target, tokenizer.pieces(source), tokenizer.pieces(target))
        )
    return sentences


EXTRA_TOKENS = 12  # of a continuation, or of a translation beyond its target
PROMPT_SHARE = 0.5  # share of a text's tokens that a decoder continues


def translations(tokenizer: Tokenizer) -> SampleWriter:
    """Returns a writer of greedy translations. Their length is limited, because an untrained model does not end."""
    return partial(_translate, tokenizer)


def _translate(tokenizer: Tokenizer, model: Transformer, sentences: Sequence[ProbeSentence]) -> list[str]:
    source = pad([list(each.source) for each in sentences]).to(_device(model))
    limit = max(len(each.target) for each in sentences) + EXTRA_TOKENS
    return [tokenizer.decode(path.ids) for path in greedy(model, source, max_total_tokens=limit)]


def continuations(tokenizer: Tokenizer) -> SampleWriter:
    """Returns a writer of the first half of each text and its continuation after the dots."""
    return partial(_continue, tokenizer)


def _continue(tokenizer: Tokenizer, model: Transformer, sentences: Sequence[ProbeSentence]) -> list[str]:
    texts = []
    for each in sentences:
        prompt = prompt_ids(each)
        (path,) = greedy(model, None, prefix=prompt, max_total_tokens=len(prompt) + EXTRA_TOKENS)
        texts.append(f"{tokenizer.decode(prompt).strip()} … {tokenizer.decode(path.ids[len(prompt) :]).strip()}")
    return texts


def prompt_ids(sentence: ProbeSentence) -> tuple[int, ...]:
    """Returns the ids of a text that the model continues."""
    return sentence.target[: max(1, round(PROMPT_SHARE * (len(sentence.target) - 1)))]


def filled_blanks(tokenizer: Tokenizer) -> SampleWriter:
    """Returns a writer of each sentence with the most probable token in every blank."""
    return partial(_fill_blanks, tokenizer)


def _fill_blanks(tokenizer: Tokenizer, model: Transformer, sentences: Sequence[ProbeSentence]) -> list[str]:
    texts = []
    for each in sentences:
        source = torch.tensor([each.source], device=_device(model))
        likeliest = (
            _exclude_control_tokens(model.project(teacher_forced_states(model, source, None)), tokenizer.mask)[0]
            .argmax(-1)
            .tolist()
        )
        ids = [new if old == tokenizer.mask else old for old, new in zip(each.source, likeliest, strict=True)]
        texts.append(tokenizer.decode(ids))
    return texts


def _exclude_control_tokens(logits: torch.Tensor, mask: int | None) -> torch.Tensor:
    """Sets the logits [...,V] of control tokens and of the blank to minus infinity, in place."""
    logits[..., [*range(len(CONTROL_TOKENS)), *([] if mask is None else [mask])]] = -torch.inf
    return logits


def predicted_labels(model: Transformer, sentences: Sequence[ProbeSentence]) -> list[str]:
    """Returns the most probable label of each text."""
    predicted = []
    for each in sentences:
        source = torch.tensor([each.source], device=_device(model))
        predicted.append(
            each.labels[int(model.label_logits(teacher_forced_states(model, source, None), source)[0].argmax())]
        )
    return predicted


def _device(model: Transformer) -> torch.device:
    return next(model.parameters()).device
