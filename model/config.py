"""The configurations of a model and of its training: two frozen dataclasses that check their values.

The package writes shapes with these letters:

    B batch   H heads   T query length   S key length   D d_model   K head dimension (D / H)   F d_ff   V vocabulary

This module imports no torch: a page reads it first. `model.network` computes the activations and the position schemes.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Literal, cast

from .io.files import MAX_WEIGHTS, check_record, short_repr


@dataclass(frozen=True)
class Activation:
    """The description of an activation in a feed-forward layer."""

    name: str
    title: str
    effect: str  # effect on the numbers of the wide layer, written after the title
    formula_text: str  # effect with its formula, as the rest of a sentence
    is_gated: bool = False  # a second matrix of the same shape computes a factor for each number


ACTIVATIONS: dict[str, Activation] = {
    activation.name: activation
    for activation in (
        Activation("relu", "ReLU", "cuts off what is below 0", ", sets the negative ones to 0 (ReLU)"),
        Activation("gelu", "GELU", "damps what is below 0", ", bends them by GELU"),
        Activation("swiglu", "SwiGLU", "damps what is below 0", " twice, one gating the other (SwiGLU)", is_gated=True),
        Activation(
            "gelu_tanh",
            "GELU (tanh)",
            "damps what is below 0",
            ", bends them by GELU in its tanh form, x/2 (1 + tanh(√(2/π) (x + 0.044715 x³)))",
        ),
        Activation("silu", "SiLU", "damps what is below 0", ", bends them by SiLU (swish), x / (1 + exp(-x))"),
    )
}


def matched_gated_width(d_model: int, d_ff: int) -> int:
    """Returns the inner width w at which a gated network has about as many parameters as a plain one of width `d_ff`.

    With biases these are (3 d_model + 2) w + d_model and (2 d_model + 1) d_ff + d_model. Without biases w is two thirds
    of `d_ff` (Shazeer 2020, section 2).
    """
    return max(1, round(d_ff * (2 * d_model + 1) / (3 * d_model + 2)))


PAD, START, END = 0, 1, 2  # ids of the control tokens, the same in every vocabulary
CONTROL_TOKENS = ("<pad>", "<s>", "</s>")
MASK_TOKEN = "<mask>"  # a blank: the control token after these in the vocabulary of a masked language model
MAX_TOKENS, MAX_GIVEN_TOKENS = 128, 1024  # longest source and target, `</s>` included: usual, and on request
MAX_LANGUAGE = 40  # characters of a language's name, and of a label's
MAX_CLASSES = 100  # labels of a classifier
MAX_CHARACTERS = 20_000  # of a text before it is split or tokenised: the time of both may grow quadratically


def is_language(value: Any) -> bool:
    """True for a valid name of a language or of a label."""
    return isinstance(value, str) and bool(value.strip()) and value.isprintable() and len(value) <= MAX_LANGUAGE


@dataclass(frozen=True)
class Scheme:
    """The description of a position scheme; `model.network.positions` computes it."""

    name: str
    formula: str  # as markup
    embedding_effect: str = ""  # effect on the embeddings, a sentence; empty where nothing is added
    attention_effect: str = ""  # effect inside self-attention, a sentence; empty where there is none
    has_table: bool = False  # a table of `max_positions` rows is trained
    even_size: str = ""  # the size that must be even, if any: d_model or head_dim
    has_split_halves: bool = False  # pair i has dimensions i and d/2 + i of the vector, not two neighbours

    def max_length(self, max_positions: int) -> int | None:
        """Returns the number of positions that the scheme has; None for a formula, which has no limit."""
        return max_positions if self.has_table else None

    def width(self, d_model: int, head_dim: int) -> int:
        """Returns the width of the vectors that the scheme changes: embeddings, or queries and keys of a head."""
        return d_model if self.embedding_effect else head_dim


SCHEMES: dict[str, Scheme] = {
    scheme.name: scheme
    for scheme in (
        Scheme(
            "sinusoidal",
            "PE(p, 2i) = sin(p / base<sup>2i/d</sup>), PE(p, 2i+1) = cos(p / base<sup>2i/d</sup>), added",
            embedding_effect="Adds sines and cosines of the position to each vector; without them word order is invisible.",
            even_size="d_model",
        ),
        Scheme(
            "learned",
            "PE(p) is row p of a table that is trained; it is added to the embedding",
            embedding_effect="Adds to each vector the learned vector of its position, out of {max_positions}.",
            has_table=True,
        ),
        Scheme(
            "rotary",
            "In every query and key, pair i is turned by p / base<sup>2i/d</sup>; nothing is added to the embeddings",
            attention_effect="Queries and keys are first rotated by their positions (rotary).",
            even_size="head_dim",
        ),
        Scheme(
            "sinusoidal-halves",
            "PE(p, i) = sin(p / base<sup>2i/d</sup>), PE(p, d/2 + i) = cos(p / base<sup>2i/d</sup>), added",
            embedding_effect="Adds sines to the first half of each vector and cosines to the second, as Marian does.",
            even_size="d_model",
            has_split_halves=True,
        ),
        Scheme("none", "Nothing is added and nothing is rotated: attention sees no word order"),
    )
}
FAMILIES: dict[str, tuple[str, ...]] = {  # the kinds of attention of each family
    "encoder-decoder": ("encoder", "decoder", "cross"),
    "encoder-only": ("encoder",),
    "decoder-only": ("decoder",),
}

CHOICES: dict[str, Collection[str]] = {  # of the fields that hold a name
    "family": FAMILIES,
    "positions": SCHEMES,
    "activation": ACTIVATIONS,
    "norm": ("layernorm", "rmsnorm"),
    "pooling": ("first", "mean"),
    "schedule": ("noam", "cosine"),
    "precision": ("auto", "float32", "bfloat16"),
    "keep": ("best", "last"),
}


def _from_dict(cls: type[Any], values: Any) -> Any:
    if not isinstance(values, dict):
        raise ValueError(f"expected an object with the fields of {cls.__name__}, found {type(values).__name__}")
    known = {field.name for field in dataclasses.fields(cls)}
    if unknown := sorted(set(values) - known):
        raise ValueError(f"unknown field {short_repr(unknown[0])}; expected only {', '.join(sorted(known))}")
    required = {f.name for f in dataclasses.fields(cls) if f.default is dataclasses.MISSING}
    if missing := sorted(required - set(values)):
        raise ValueError(f"the field {missing[0]!r} is missing")
    lists = {f.name for f in dataclasses.fields(cls) if f.type == "tuple[str, ...]"}  # JSON has lists, not tuples
    return cls(**{n: tuple(value) if n in lists and isinstance(value, list) else value for n, value in values.items()})


@dataclass(frozen=True)
class ModelConfig:
    """The configuration that decides the parameters and the forward pass of a model.

    The defaults are those of the shipped checkpoint: pre-norm with a final norm, sinusoidal positions, and one joint
    vocabulary whose embedding is also the output projection (Vaswani et al. 2017, section 3.4).

    Raises ValueError with the field, its value and the expected value.
    """

    source_vocab: int
    target_vocab: int
    joint_vocab: bool = True  # one table embeds both languages
    tied_output: bool = True  # the output projection is the target embedding, transposed
    d_model: int = 256
    heads: int = 8
    encoder_layers: int = 4
    decoder_layers: int = 4  # 0 in a family without a decoder; encoder_layers is 0 without an encoder
    d_ff: int = 1024
    positions: str = "sinusoidal"  # one of `SCHEMES`
    max_positions: int = 512  # rows of a learned table; the other kinds have no limit
    activation: str = "relu"  # one of `ACTIVATIONS`
    norm: Literal["layernorm", "rmsnorm"] = "layernorm"
    norm_first: bool = True  # True: pre-norm; False: post-norm, as in 2017
    final_norm: bool = True  # a norm after the last layer of each stack
    norm_eps: float = 1e-5  # inside the root, as torch has it
    causal: bool = True  # False: the decoder is trained without its mask and sees the tokens that it predicts
    window: int | None = None  # width of sliding-window self-attention; None: unlimited
    dropout: float = 0.1  # embeddings and sub-layer outputs
    attention_dropout: float = 0.0  # attention pattern
    family: str = "encoder-decoder"  # one of `FAMILIES`
    embedding_scale: bool = True  # embeddings are multiplied by sqrt(d_model) before positions are added
    output_bias: bool = False  # the output projection adds a bias to each logit
    embedding_norm: bool = False  # a norm after the positions are added; encoder-only, as all fields below
    output_transform: bool = False  # a linear layer, the activation and a norm before the output projection
    source_start: bool = False  # the source begins with `<s>`, as BERT's with [CLS]
    segments: int = 0  # 2: a learned vector of the first or second sentence is added to each token
    pooler: bool = False  # one vector of the full text, through a linear layer and tanh
    pooling: Literal["first", "mean"] = "first"  # the pooler reads the first token's state, or the mean of all
    follows: bool = False  # a next-sentence head reads the pooled vector
    classes: tuple[str, ...] = ()  # labels of a classifier, which reads the pooled vector

    def __post_init__(self) -> None:
        sizes = ("source_vocab", "target_vocab", "d_model", "heads", "d_ff")
        check_record(self, CHOICES, positive=(*sizes, "max_positions", "norm_eps"), shares=("dropout", "attention_dropout"))
        for stack in ("encoder", "decoder"):
            count, has_stack = getattr(self, f"{stack}_layers"), stack in self.kinds
            if has_stack != (count > 0) or count < 0:
                expected = "more than 0" if has_stack else f"0, for a model that is {self.family} has no {stack}"
                raise ValueError(f"{stack}_layers is {short_repr(count)}; expected {expected}")
        for name in ("embedding_norm", "output_transform", "source_start", "segments", "pooler", "follows", "classes"):
            if (value := getattr(self, name)) and self.kinds != ("encoder",):
                raise ValueError(
                    f"{name} is {short_repr(value)}; expected {type(value)()}, for a model that is {self.family} has none"
                )
        self._check_pooler()
        if len(self.kinds) == 1 and not self.joint_vocab:
            raise ValueError(f"joint_vocab is False; expected True, for a model that is {self.family} has one vocabulary")
        if self.d_model % self.heads:
            raise ValueError(f"d_model is {self.d_model}; expected a multiple of heads, which is {self.heads}")
        even = self.scheme.even_size
        if even == "head_dim" and self.head_dim % 2:
            raise ValueError(f"{self.positions} positions need an even head dimension; d_model / heads is {self.head_dim}")
        if even == "d_model" and self.d_model % 2:
            raise ValueError(f"{self.positions} positions need an even d_model; it is {self.d_model}")
        if self.joint_vocab and self.source_vocab != self.target_vocab:
            raise ValueError(
                f"a joint vocabulary has one size; source_vocab is {self.source_vocab}, target_vocab {self.target_vocab}"
            )
        if self.weight_count > MAX_WEIGHTS:
            raise ValueError(f"the model would have {self.weight_count:,} weights; expected at most {MAX_WEIGHTS:,}")

    def _check_pooler(self) -> None:
        """Raises ValueError for a head over the full text that has no pooled vector to read."""
        if self.segments not in (0, 2):
            raise ValueError(f"segments is {short_repr(self.segments)}; expected 0 or 2")
        for name, default in (("follows", False), ("classes", ()), ("pooling", "first")):
            if (value := getattr(self, name)) != default and not self.pooler:
                raise ValueError(f"{name} is {short_repr(value)}; expected {default!r}, for the model has no pooler")
        if self.pooler and self.pooling == "first" and not self.source_start:
            raise ValueError(
                "source_start is False; expected True, for the pooler reads the state of the first token, `<s>`"
            )
        has_valid_count = len(self.classes) != 1 and len(set(self.classes)) == len(self.classes) <= MAX_CLASSES
        if not (has_valid_count and all(map(is_language, self.classes))):
            raise ValueError(
                f"classes is {short_repr(self.classes)}; expected 2 to {MAX_CLASSES} different labels of at most "
                f"{MAX_LANGUAGE} printable characters, or none"
            )

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of attention of this family, in display order."""
        return FAMILIES[self.family]

    @property
    def layers(self) -> dict[str, int]:
        """Number of layers of each kind of attention, in display order."""
        return {kind: self.encoder_layers if kind == "encoder" else self.decoder_layers for kind in self.kinds}

    @property
    def has_shared_embedding(self) -> bool:
        """True where one table embeds the source language and the target language."""
        return self.joint_vocab and "cross" in self.kinds

    @property
    def scheme(self) -> Scheme:
        """The position scheme."""
        return SCHEMES[self.positions]

    def clamp_length(self, length: int) -> int:
        """Returns the largest number of tokens, up to `length`, that all have a position."""
        return min(length, self.scheme.max_length(self.max_positions) or length)

    @property
    def head_dim(self) -> int:
        """K, the width of one head's queries, keys and values."""
        return self.d_model // self.heads

    @property
    def weight_count(self) -> int:
        """Number of weights in the matrices and tables, without biases and norms."""
        rows = self.target_vocab * (1 if self.tied_output else 2)
        if not self.joint_vocab:
            rows += self.source_vocab
        if self.scheme.has_table:
            rows += self.max_positions * len({kind for kind in self.kinds if kind != "cross"})
        attentions, stacks = sum(self.layers.values()), self.encoder_layers + self.decoder_layers
        rows += self.d_model * (self.output_transform + self.pooler) + self.segments + 2 * self.follows + len(self.classes)
        matrices = 3 if ACTIVATIONS[self.activation].is_gated else 2
        return rows * self.d_model + 4 * attentions * self.d_model**2 + matrices * stacks * self.d_model * self.d_ff

    def to_dict(self) -> dict[str, Any]:
        """Returns the fields as values of JSON."""
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, values: Any) -> ModelConfig:
        """Inverse of `to_dict`. Raises ValueError for unknown, missing or invalid fields."""
        return cast(ModelConfig, _from_dict(cls, values))


@dataclass(frozen=True)
class TrainConfig:
    """The configuration of a training run. Steps are optimiser steps; tokens are target tokens without padding."""

    vocab_size: int = 8000
    epochs: int = 9
    batch_tokens: int = 2048
    learning_rate: float = 1.2e-3  # the peak
    warmup: int = 1000
    schedule: Literal["noam", "cosine"] = "cosine"
    label_smoothing: float = 0.1
    clip: float = 1.0
    weight_decay: float = 0.0
    seed: int = 1
    precision: Literal["auto", "float32", "bfloat16"] = "auto"
    first_target_epochs: int = 0  # the last epochs see only the first target of each source
    joined_share: float = 0.0  # per pair, examples joined from 2 to 5 random pairs, new in every epoch
    renamed_share: float = 0.0  # per pair, copies with invented names, new in every epoch
    renumbered_share: float = 0.0  # per pair, copies with other numbers, new in every epoch
    phrase_share: float = 0.0  # per pair, aligned words and phrases, new in every epoch
    bpe_dropout: float = 0.0  # probability to skip a merge of a training word, new in every epoch
    masked: float = 0.15  # share of the tokens that a masked language model predicts
    whole_words: bool = False  # all tokens of a word are masked together
    typed_copies: int = 0  # one pair in this many has a copy as people type it; 0: none
    validate_every: int = 1000
    average: int = 5  # validated and saved weights are the mean over this many last validations
    keep: Literal["best", "last"] = "best"  # of the validations: the lowest dev loss, or the last
    patience: int = 0  # validations without a lower dev loss before the run stops; 0: no early stop
    log_every: int = 50
    save_minutes: float = 4.0

    def __post_init__(self) -> None:
        counts = ("vocab_size", "epochs", "batch_tokens", "learning_rate", "warmup", "clip", "validate_every", "average")
        shares = ("joined_share", "renamed_share", "renumbered_share", "phrase_share")
        check_record(
            self,
            CHOICES,
            positive=(*counts, "masked", "log_every", "save_minutes"),
            shares=(*shares, "label_smoothing", "weight_decay", "bpe_dropout", "masked"),
        )
        for name in ("patience", "seed", "typed_copies"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} is {getattr(self, name)}; expected at least 0")
        if not 0 <= self.first_target_epochs <= self.epochs:
            raise ValueError(f"first_target_epochs is {self.first_target_epochs}; expected 0 to epochs, {self.epochs}")

    def to_dict(self) -> dict[str, Any]:
        """Returns the fields as values of JSON."""
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, values: Any) -> TrainConfig:
        """Inverse of `to_dict`. Raises ValueError for unknown, missing or invalid fields."""
        return cast(TrainConfig, _from_dict(cls, values))
