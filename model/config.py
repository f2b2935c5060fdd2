"""What a model is made of, and how it is trained: two frozen records, checked when they are made.

Shapes throughout the package are written with these letters (see docs of each function):

    B batch   H heads   T query length   S key length   D d_model   K head dimension (D / H)   F d_ff   V vocabulary

This module imports no torch, so that a web page can read it before the network is loaded.

What may stand between the two products of a feed-forward layer. No torch here; `model.network.layers` computes them."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Literal

from .io.files import shown
from .io.limits import MAX_WEIGHTS, check


@dataclass(frozen=True)
class Activation:
    """An activation, as far as it can be told without a tensor."""

    name: str
    title: str
    does: str  # to the numbers of the wide layer, to be read behind its title
    as_step: str  # the same with its formula, as the rest of a sentence
    gated: bool = False  # a second matrix of the same shape makes the factor of each number


ACTIVATIONS: dict[str, Activation] = {
    made.name: made
    for made in (
        Activation("relu", "ReLU", "cuts off what is below 0", ", sets the negative ones to 0 (ReLU)"),
        Activation("gelu", "GELU", "damps what is below 0", ", bends them by GELU"),
        Activation(
            "swiglu",
            "SwiGLU",
            "damps what is below 0",
            " twice, one gating the other (SwiGLU)",
            gated=True,
        ),
        Activation(
            "gelu_tanh",
            "GELU (tanh)",
            "damps what is below 0",
            ", bends them by GELU in its tanh form, x/2 (1 + tanh(√(2/π) (x + 0.044715 x³)))",
        ),
        Activation("silu", "SiLU", "damps what is below 0", ", bends them by SiLU (swish), x / (1 + exp(-x))"),
    )
}


def equal_width(d_model: int, d_ff: int) -> int:
    """The inner width at which a gated network has as many parameters as a plain one of width `d_ff`, or nearly: with
    biases, (3 d_model + 2) w + d_model against (2 d_model + 1) d_ff + d_model. Without them it is two thirds of it (Shazeer
    2020, section 2).
    """
    return max(1, round(d_ff * (2 * d_model + 1) / (3 * d_model + 2)))


PAD, START, END = 0, 1, 2  # ids of the control tokens, the same in every vocabulary
CONTROL_TOKENS = ("<pad>", "<s>", "</s>")
MASK_TOKEN = "<mask>"  # a blank: the control token behind them in the vocabulary of a model that fills in
MAX_TOKENS = 128  # longest source and longest target, `</s>` included
MAX_LANGUAGE = 40  # characters of a language's name, and of a label's
MAX_CLASSES = 100  # labels of a classifier
MAX_CHARACTERS = 20_000  # of a text, before it is split or tokenised: both may take time that grows with its square


def is_language(value: Any) -> bool:
    """True for what a language, or a label of texts, may be called: it is written beside every text of it."""
    return isinstance(value, str) and bool(value.strip()) and value.isprintable() and len(value) <= MAX_LANGUAGE


@dataclass(frozen=True)
class Scheme:
    """A scheme of positions, as far as it can be described without a tensor; `model.network.positions` computes it."""

    name: str
    formula: str  # as markup
    adds: str = ""  # what it does to the embeddings, a sentence; empty where nothing is added
    attends: str = ""  # what it does inside self-attention, a sentence; empty where nothing is done
    has_table: bool = False  # a table of `max_positions` rows is trained
    even: str = ""  # the size that must be even, if any: d_model or head_dim
    halves: bool = False  # a pair of dimensions is one of each half of the vector, and not two neighbours

    def limit(self, max_positions: int) -> int | None:
        """Returns the number of positions that the scheme has; None for a formula, which has one for every position."""
        return max_positions if self.has_table else None

    def width(self, d_model: int, head_dim: int) -> int:
        """Returns the width of the vectors that it acts on: of embeddings, or of a head's queries and keys."""
        return d_model if self.adds else head_dim


SCHEMES: dict[str, Scheme] = {
    made.name: made
    for made in (
        Scheme(
            "sinusoidal",
            "PE(p, 2i) = sin(p / base<sup>2i/d</sup>), PE(p, 2i+1) = cos(p / base<sup>2i/d</sup>), added",
            adds="Adds sines and cosines of the position to each vector; without them word order is invisible.",
            even="d_model",
        ),
        Scheme(
            "learned",
            "PE(p) is row p of a table that is trained; it is added to the embedding",
            adds="Adds to each vector the learned vector of its position, out of {max_positions}.",
            has_table=True,
        ),
        Scheme(
            "rotary",
            "In every query and key, pair i is turned by p / base<sup>2i/d</sup>; nothing is added to the embeddings",
            attends="Queries and keys are first rotated by their positions (rotary).",
            even="head_dim",
        ),
        Scheme(
            "sinusoidal-halves",
            "PE(p, i) = sin(p / base<sup>2i/d</sup>), PE(p, d/2 + i) = cos(p / base<sup>2i/d</sup>), added",
            adds="Adds sines of the position to the first half of each vector and cosines to the second, as Marian does.",
            even="d_model",
            halves=True,
        ),
    )
}
# Which kinds of attention a model of each family has.
FAMILIES: dict[str, tuple[str, ...]] = {
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


def _from_dict(cls: type, values: Any) -> Any:
    if not isinstance(values, dict):
        raise ValueError(f"expected an object with the fields of {cls.__name__}, found {type(values).__name__}")
    known = {field.name for field in dataclasses.fields(cls)}
    if unknown := sorted(set(values) - known):
        raise ValueError(f"unknown field {shown(unknown[0])}; expected only {', '.join(sorted(known))}")
    required = {f.name for f in dataclasses.fields(cls) if f.default is dataclasses.MISSING}
    if missing := sorted(required - set(values)):
        raise ValueError(f"the field {missing[0]!r} is missing")
    lists = {f.name for f in dataclasses.fields(cls) if f.type == "tuple[str, ...]"}  # what JSON has for them
    return cls(**{n: tuple(value) if n in lists and isinstance(value, list) else value for n, value in values.items()})


@dataclass(frozen=True)
class ModelConfig:
    """Every choice that decides which parameters a model has and what its forward pass computes.

    Defaults are the shipped checkpoint's: pre-norm with a final norm, sinusoidal positions, one joint vocabulary whose
    embedding is also the output projection (Vaswani et al. 2017, section 3.4).

    Raises ValueError, naming the field, the value and what was expected.
    """

    source_vocab: int
    target_vocab: int
    joint_vocab: bool = True  # one table embeds both languages
    tied_output: bool = True  # the output projection is the target embedding, transposed
    d_model: int = 256
    heads: int = 8
    encoder_layers: int = 4
    decoder_layers: int = 4  # 0 in a family that has no decoder, as encoder_layers where there is no encoder
    d_ff: int = 1024
    positions: str = "sinusoidal"  # one of `SCHEMES`
    max_positions: int = 512  # rows of a learned table; the other kinds have no limit
    activation: str = "relu"  # one of `ACTIVATIONS`
    norm: Literal["layernorm", "rmsnorm"] = "layernorm"
    norm_first: bool = True  # True: pre-norm; False: post-norm, as in 2017
    final_norm: bool = True  # a norm after the last layer of each stack
    norm_eps: float = 1e-5  # inside the root, as torch has it
    causal: bool = True  # False: the decoder is trained without its mask, and sees the tokens that it should predict
    window: int | None = None  # width of sliding-window self-attention; None: unlimited
    dropout: float = 0.1  # embeddings and sub-layer outputs
    attention_dropout: float = 0.0  # attention pattern
    family: str = "encoder-decoder"  # one of `FAMILIES`
    embedding_scale: bool = True  # embeddings are multiplied by sqrt(d_model) before positions are added
    output_bias: bool = False  # the output projection adds a number of its own to each token's logit
    embedding_norm: bool = False  # a norm after the positions are added; these three of a model that only reads
    output_transform: bool = False  # a linear layer, the activation and a norm before the output projection
    source_start: bool = False  # the source begins with `<s>`, as BERT's with [CLS]
    segments: int = 0  # 2: to each token is added which of two sentences it belongs to; these five too
    pooler: bool = False  # one vector of the whole text, through a linear layer and tanh
    pooling: Literal["first", "mean"] = "first"  # the pooler reads the first token's state, or the mean of all
    follows: bool = False  # what is pooled says of two sentences whether the second follows the first
    classes: tuple[str, ...] = ()  # the labels of which what is pooled chooses one

    def __post_init__(self) -> None:
        sizes = ("source_vocab", "target_vocab", "d_model", "heads", "d_ff")
        check(self, CHOICES, positive=(*sizes, "max_positions", "norm_eps"), shares=("dropout", "attention_dropout"))
        for stack in ("encoder", "decoder"):
            count, has = getattr(self, f"{stack}_layers"), stack in self.kinds
            if has != (count > 0) or count < 0:
                expected = "more than 0" if has else f"0, for a model that is {self.family} has no {stack}"
                raise ValueError(f"{stack}_layers is {shown(count)}; expected {expected}")
        for name in ("embedding_norm", "output_transform", "source_start", "segments", "pooler", "follows", "classes"):
            if (value := getattr(self, name)) and self.kinds != ("encoder",):
                expected = type(value)()  # False, 0 or ()
                raise ValueError(
                    f"{name} is {shown(value)}; expected {expected}, for a model that is {self.family} has none"
                )
        self._check_pooled()
        if len(self.kinds) == 1 and not self.joint_vocab:
            raise ValueError(f"joint_vocab is False; expected True, for a model that is {self.family} has one vocabulary")
        if self.d_model % self.heads:
            raise ValueError(f"d_model is {self.d_model}; expected a multiple of heads, which is {self.heads}")
        even = self.scheme.even
        if even == "head_dim" and self.head_dim % 2:
            raise ValueError(f"{self.positions} positions need an even head dimension; d_model / heads is {self.head_dim}")
        if even == "d_model" and self.d_model % 2:
            raise ValueError(f"{self.positions} positions need an even d_model; it is {self.d_model}")
        if self.joint_vocab and self.source_vocab != self.target_vocab:
            raise ValueError(
                f"a joint vocabulary has one size; source_vocab is {self.source_vocab}, target_vocab {self.target_vocab}"
            )
        if self.weights > MAX_WEIGHTS:
            raise ValueError(f"the model would have {self.weights:,} weights; expected at most {MAX_WEIGHTS:,}")

    def _check_pooled(self) -> None:
        """ValueError for heads that say something of the whole text and have nothing to read."""
        if self.segments not in (0, 2):
            raise ValueError(f"segments is {shown(self.segments)}; expected 0 or 2")
        for name, without in (("follows", False), ("classes", ()), ("pooling", "first")):
            if (value := getattr(self, name)) != without and not self.pooler:
                raise ValueError(f"{name} is {shown(value)}; expected {without!r}, for the model has no pooler")
        if self.pooler and self.pooling == "first" and not self.source_start:
            raise ValueError(
                "source_start is False; expected True, for the pooler reads the state of the first token, `<s>`"
            )
        fit = len(self.classes) != 1 and len(set(self.classes)) == len(self.classes) <= MAX_CLASSES
        if not (fit and all(map(is_language, self.classes))):
            raise ValueError(
                f"classes is {shown(self.classes)}; expected 2 to {MAX_CLASSES} different labels of at most {MAX_LANGUAGE} "
                "printable characters, or none"
            )

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of attention that this family has, in the order in which they are shown."""
        return FAMILIES[self.family]

    @property
    def layers(self) -> dict[str, int]:
        """How many layers each kind of attention has, in the order in which they are shown."""
        return {kind: self.encoder_layers if kind == "encoder" else self.decoder_layers for kind in self.kinds}

    @property
    def two_in_one(self) -> bool:
        """Whether one table embeds two languages, that of the source and that of the target."""
        return self.joint_vocab and "cross" in self.kinds

    @property
    def scheme(self) -> Scheme:
        """What is known of its positions."""
        return SCHEMES[self.positions]

    def longest(self, length: int) -> int:
        """Returns the length of the longest text of at most `length` tokens that has a position for each of them."""
        return min(length, self.scheme.limit(self.max_positions) or length)

    @property
    def head_dim(self) -> int:
        """K, the width of one head's queries, keys and values."""
        return self.d_model // self.heads

    @property
    def weights(self) -> int:
        """How many numbers the matrices and tables of the model hold, before any is made; biases and norms come on top."""
        sides = 1 if self.joint_vocab else 2
        rows = self.source_vocab * (sides == 2) + self.target_vocab * (1 if self.tied_output else 2)
        rows += self.max_positions * len({kind for kind in self.kinds if kind != "cross"}) * self.scheme.has_table
        attentions, stacks = sum(self.layers.values()), self.encoder_layers + self.decoder_layers
        rows += self.d_model * (self.output_transform + self.pooler) + self.segments + 2 * self.follows + len(self.classes)
        matrices = 3 if ACTIVATIONS[self.activation].gated else 2
        return rows * self.d_model + 4 * attentions * self.d_model**2 + matrices * stacks * self.d_model * self.d_ff

    def to_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, values: Any) -> ModelConfig:
        """Inverse of `to_dict`; ValueError on unknown, missing or unfit fields."""
        return _from_dict(cls, values)


@dataclass(frozen=True)
class TrainConfig:
    """How a run is trained. Steps are optimiser steps; tokens are target tokens that are not padding."""

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
    joined_share: float = 0.0  # for each pair so many made of 2 to 5 random ones, others in every epoch
    renamed_share: float = 0.0  # for each pair so many with made-up names, others in every epoch
    renumbered_share: float = 0.0  # the same with other numbers
    phrase_share: float = 0.0  # for each pair so many words and phrases that translate each other, others in every epoch
    bpe_dropout: float = 0.0  # how likely a merge is passed over where a word of training is cut, others in every epoch
    masked: float = 0.15  # share of a text's tokens that a model which fills in is to tell
    whole_words: bool = False  # it is to tell all tokens of a word, or none
    typed_copies: int = 0  # one pair in so many stands again as people type it; 0: none
    validate_every: int = 1000
    average: int = 5  # what is validated and kept is the mean of the weights at so many last validations
    keep: Literal["best", "last"] = "best"  # of the validations: the lowest dev loss, or the last
    patience: int = 0  # validations without a lower dev loss after which the run ends; 0: it goes to the end
    log_every: int = 50
    save_minutes: float = 4.0

    def __post_init__(self) -> None:
        counts = ("vocab_size", "epochs", "batch_tokens", "learning_rate", "warmup", "clip", "validate_every", "average")
        shares = ("joined_share", "renamed_share", "renumbered_share", "phrase_share")
        check(
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
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, values: Any) -> TrainConfig:
        """Inverse of `to_dict`; ValueError on unknown, missing or unfit fields."""
        return _from_dict(cls, values)
