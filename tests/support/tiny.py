"""Small things that many tests are made of: models of a few thousand seeded weights, and a language of our own."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from unittest import mock

import numpy as np
import torch
from torch import nn

from model.checkpoint import Checkpoint
from model.config import END, PAD, START, ModelConfig
from model.edits.apply import BatchEdits, Donor
from model.edits.intervention import BASELINE, Intervention
from model.network import masks
from model.network.context import Pass, donor_records
from model.network.transformer import Transformer, build
from model.text.corpus_stats import CorpusStats, Lengths
from model.text.tokenizer import Tokenizer
from model.trace import Probe, Site

VOCAB = 40  # where plain ids do, without a tokenizer
SALT = 2  # with it the models of seeds 0 to 7 write different tokens, and some end a sentence before the limit
DONOR = Donor((7, 31, 12, 25, 9), (0, 1, 2, 3, 4))  # what patches take from, there
OTHER = "The old king paints a boat."  # and with one

# A language with sixteen words, made up for these tests: every English word has one translation, adjectives follow.
_NOUNS = {"fox": "varun", "lamp": "lumel", "boat": "nefa", "king": "roda"}
_VERBS = {"sees": "mira", "takes": "prenda", "paints": "pinte", "finds": "truva"}
_ADJECTIVES = {"red": "roji", "old": "vechu"}
# Properties of models that are converted from other programs.
MARIAN = {"norm_first": False, "final_norm": False, "activation": "silu", "positions": "sinusoidal-halves"}
MARIAN |= {"output_bias": True}
UNSCALED = {"activation": "gelu_tanh", "embedding_scale": False, "output_bias": True}
MODERN = {"norm": "rmsnorm", "activation": "swiglu", "positions": "rotary"}
NORMS: list[dict] = [{}, {"norm_first": False}, {"final_norm": False}, {"norm_first": False, "final_norm": False}]
NORMS += [{"norm": "rmsnorm"}, MODERN | {"norm_first": False}, MODERN, MARIAN, UNSCALED]


def _pairs() -> list[tuple[str, str]]:
    pairs = []
    for adjective, described in _ADJECTIVES.items():
        for subject, subjekt in _NOUNS.items():
            for verb, verba in _VERBS.items():
                for thing, objekt in list(_NOUNS.items())[:2]:
                    target = f"Lo {subjekt} {described} {verba} una {objekt}."
                    pairs.append((f"The {adjective} {subject} {verb} a {thing}.", target))
    return pairs


PAIRS = _pairs()
SENTENCES = [text for pair in PAIRS for text in pair]
HELD_OUT = PAIRS[::7]
ODD_PAIRS = [("It's the queen's café.", "C'est là qu'il a vu l'étoile."), ("Don't!", "N'y va pas…")]

# Options of a model and its training that learn the language in a second.
MODEL = {"d_model": 32, "heads": 2, "encoder_layers": 1, "decoder_layers": 1, "d_ff": 64, "dropout": 0.0}
TRAINING = {"vocab_size": 320, "epochs": 40, "batch_tokens": 160, "learning_rate": 0.01, "warmup": 20}
TRAINING |= {"validate_every": 50, "precision": "float32"}


def options(**values: Any) -> list[str]:
    """Fields of the configs as options of the command line."""
    return [word for name, value in values.items() for word in ("--" + name.replace("_", "-"), str(value))]


def config(**changes: Any) -> ModelConfig:
    """A config of a few thousand weights, without dropout."""
    sizes = {"d_model": 16, "heads": 2, "encoder_layers": 2, "decoder_layers": 2, "d_ff": 32, "dropout": 0.0}
    vocab = {"source_vocab": VOCAB, "target_vocab": VOCAB}
    return ModelConfig(**(vocab | sizes | changes))


def normal(random: np.random.Generator, *shape: int, std: float = 1.0) -> torch.Tensor:
    """Returns float64 values of N(0, std^2). `torch.randn` with one seed differs from processor to processor by 1e-7."""
    return torch.from_numpy(std * random.standard_normal(shape))


@contextmanager
def numpy_initialisation(random: np.random.Generator) -> Iterator[None]:
    """Draws initial weights with numpy, so that a seed gives the same model on every processor."""

    def xavier_uniform_(weight: torch.Tensor) -> torch.Tensor:
        bound = (6 / sum(weight.shape)) ** 0.5
        return weight.copy_(torch.from_numpy(random.uniform(-bound, bound, weight.shape)))

    def normal_(weight: torch.Tensor, mean: float = 0.0, std: float = 1.0) -> torch.Tensor:
        return weight.copy_(mean + normal(random, *weight.shape, std=std))

    with (
        mock.patch.object(nn.init, "xavier_uniform_", xavier_uniform_),
        mock.patch.object(nn.init, "normal_", normal_),
        torch.no_grad(),
    ):
        yield


def model(seed: int = 0, dtype: torch.dtype = torch.float64, **changes: Any) -> Transformer:
    """Returns a seeded model in eval mode. Biases and norms are random too, so that a forgotten one shows."""
    random = np.random.default_rng([SALT, seed])
    with numpy_initialisation(random):
        network = build(config(**changes)).to(dtype)
        for parameter in network.parameters():
            if parameter.dim() == 1:
                parameter.add_(normal(random, *parameter.shape, std=0.3))
    return network.requires_grad_(True).eval()


def lively(seed: int = 0, dtype: torch.dtype = torch.float64, **changes: Any) -> Transformer:
    """A model whose greedy choice depends on the context, and which ends some sentences by itself."""
    network = model(seed, dtype, **({"tied_output": False} | changes))
    with torch.no_grad():
        for name, parameter in network.named_parameters():
            if parameter.dim() == 1:
                parameter.copy_(torch.ones_like(parameter) if name.endswith("norm.weight") else 0 * parameter)
            if name.endswith(("attention.output.weight", "attention.value.weight")):
                parameter.mul_(2)
        network.projection.weight.mul_(4)
        network.projection.weight[END].mul_(1.5)
        if network.projection.bias is not None:
            network.projection.bias.copy_(normal(np.random.default_rng(seed), *network.projection.bias.shape))
    return network.requires_grad_(False)


def ids(*shape: int, seed: int = 0, vocab: int = VOCAB) -> torch.Tensor:
    """Random token ids without control tokens."""
    return torch.randint(3, vocab, shape, generator=torch.Generator().manual_seed(seed))


def target_ids(*shape: int, seed: int = 1, vocab: int = VOCAB) -> torch.Tensor:
    """Random decoder inputs: `<s>` in front."""
    tokens = ids(*shape, seed=seed, vocab=vocab)
    tokens[:, 0] = START
    return tokens


def padded(rows: list[int], length: int, seed: int = 0, vocab: int = VOCAB) -> torch.Tensor:
    """Random ids [B, length] of which row b keeps the first rows[b], then `<pad>`."""
    tokens = ids(len(rows), length, seed=seed, vocab=vocab)
    return tokens.masked_fill(torch.arange(length)[None] >= torch.tensor(rows)[:, None], PAD)


def edited(*codes: str) -> Intervention:
    """The intervention that some codes make together; patches take from OTHER."""
    intervention = BASELINE
    for code in codes:
        intervention = intervention.with_edit(code)
    return dataclasses.replace(intervention, donor=intervention.donor or OTHER) if intervention.has_patches else intervention


def edits(rows: Sequence[Intervention], means: Mapping[Site, torch.Tensor] | None = None) -> BatchEdits:
    """The edits of a batch of plain ids; patches take from DONOR."""
    return BatchEdits(rows, means, DONOR)


def sites(config: ModelConfig) -> list[Site]:
    """Every site of a model."""
    return [Site(kind, layer) for kind, count in config.layers.items() for layer in range(count)]


def records(probe: Probe) -> dict[Site, dict[str, torch.Tensor]]:
    """Returns the records of a full probe with its residual streams; `residual_mid` only before a feed-forward network."""
    by_site = {site: dict(record) for site, record in probe.records.items()}
    for (stack, layer, part), streams in probe.streams.items():
        cross = stack == "decoder" and Site("cross", layer) in by_site
        site = Site("cross" if cross and part != "self" else stack, layer)
        last = part == "ff" or (cross and part == "self")
        names = ("residual_mid" if part == "ff" else "residual_in", "residual_out" if last else "residual_mid")
        by_site[site] |= dict(zip(names, streams, strict=True))
    return by_site


def means(config: ModelConfig, seed: int = 5) -> dict[Site, torch.Tensor]:
    """Made-up means of every head, [H,K] a site."""
    random = np.random.default_rng(seed)
    return {site: normal(random, config.heads, config.head_dim).float() for site in sites(config)}


def with_means(checkpoint: Checkpoint) -> Checkpoint:
    """Returns the checkpoint with invented means."""
    return dataclasses.replace(checkpoint, mean_z=means(checkpoint.config))


def logits(
    model: Transformer,
    source: torch.Tensor,
    target: torch.Tensor,
    *rows: Intervention,
    probe: Probe | None = None,
    means: Mapping[Site, torch.Tensor] | None = None,
) -> torch.Tensor:
    """One pass [B,T,V] under no intervention, one for all rows, or one a row."""
    applied = edits(rows or (BASELINE,), means)
    seen = masks.build(model.config, source, target, applied.rows)
    return model(
        source, target, seen, Pass(applied, probe, donor_probe=donor_records(model, applied, target, target.device))
    )


def checkpoint(tokenizer: Tokenizer, seed: int = 12, dtype: torch.dtype = torch.float32, **changes: Any) -> Checkpoint:
    """An untrained checkpoint over a vocabulary; with two vocabularies, both sides have the same tokens."""
    sizes = {"source_vocab": tokenizer.size, "target_vocab": tokenizer.size}
    network = lively(seed, dtype, **(sizes | changes))
    counts = (1000,) * tokenizer.size
    both = {"source": counts, "target": counts}
    return Checkpoint("tiny", network.config, network, tokenizer, tokenizer, ("English", "Made-up"), {"bleu": 1.0}, both)


def doubled(tokenizer: Tokenizer, **changes: Any) -> Checkpoint:
    """Returns an untrained checkpoint in float64. Biases and gains are drawn, so that a forgotten one shows."""
    made = checkpoint(tokenizer, **changes)
    made.model.double()
    drawn = torch.Generator().manual_seed(3)
    for parameter in made.model.parameters():
        if parameter.dim() == 1:
            parameter += 0.3 * torch.randn(parameter.shape, generator=drawn)
    return made


def with_seen(checkpoint: Checkpoint, words: Mapping[str, int], source: int = 20, target: int = 20) -> Checkpoint:
    """The checkpoint, as if it had been trained on these words, in sentences of so many tokens."""
    lengths = {"source": Lengths((*[0] * source, 9)), "target": Lengths((*[0] * target, 9))}
    return dataclasses.replace(checkpoint, corpus_stats=CorpusStats(lengths, dict(words)))


def classifier(tokenizer: Tokenizer, classes: Sequence[str] = ("calm", "glad", "sad"), **changes: Any) -> Checkpoint:
    """An untrained checkpoint that gives a text one of some labels; it pools the mean of all tokens unless told."""
    judges = {"family": "encoder-only", "decoder_layers": 0, "source_start": True, "pooler": True, "pooling": "mean"}
    loaded = checkpoint(tokenizer, **(judges | {"classes": tuple(classes), "tied_output": True} | changes))
    return dataclasses.replace(loaded, languages=("Text", "Text"), metrics={})
