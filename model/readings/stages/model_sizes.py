"""Size of a Transformer from its configuration: parameters by part, key-value cache, patterns and operations.

The module builds no model, so it also counts models larger than memory. B, S, T, H, D, F and V are as in `model.config`. One
number takes 4 bytes, float32.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from ...config import ACTIVATIONS, FAMILIES, ModelConfig

BYTES = 4  # of a number
LARGEST = {"layers": 200, "d_model": 65_536, "heads": 512, "d_ff": 524_288, "vocabulary": 999_999, "length": 999_999}


@dataclass(frozen=True)
class Architecture:
    """Sizes of a model. `vocabulary` belongs to its last embedding table, `second_vocabulary` to a separate source table.

    Raises:
        ValueError: A size is not positive or too large, or the number of heads does not divide D.
    """

    family: str  # one of `FAMILIES`
    encoder_layers: int
    decoder_layers: int
    d_model: int
    heads: int
    d_ff: int
    vocabulary: int
    second_vocabulary: int = 0
    positions: int = 0  # rows of learned positions, in all tables together
    segments: int = 0  # rows of the table that marks the two sentences
    gated: bool = False  # the feed-forward network has a third matrix
    biases: bool = True  # of all linear layers inside the layers
    norm_biases: bool = True  # a norm shifts as well as scales
    outer_norms: int = 0  # norms outside the layers
    tied: bool = True  # the output projection is an embedding table
    output_bias: bool = False
    transforms: int = 0  # linear layers of D x D before the output, with a bias, and a norm after each
    poolers: int = 0  # such layers for a vector of the full text, without a norm
    choices: int = 0  # outputs of the heads after the pooler, each a row of D with a bias
    projects: bool = True  # each token's vector goes through the output projection

    def __post_init__(self) -> None:
        limits = {"encoder_layers": "layers", "decoder_layers": "layers", **{n: n for n in LARGEST}}
        for field in dataclasses.fields(self):
            largest = LARGEST.get(limits.get(field.name, ""))
            smallest = 0 if field.name.endswith("layers") else 1
            value = getattr(self, field.name)
            if largest is not None and not smallest <= value <= largest:
                raise ValueError(f"{field.name} is {value:,}; expected {smallest} to {largest:,}")
        if self.d_model % self.heads:
            wide = f"{self.heads:,} heads cannot share a width d_model of {self.d_model:,}"
            raise ValueError(f"{wide}; expected a multiple of {self.heads:,}, as {self._shared():,}")

    def _shared(self) -> int:
        """Returns the width nearest to d_model that its heads can share."""
        return max(1, round(self.d_model / self.heads)) * self.heads

    @property
    def attentions(self) -> dict[str, int]:
        """Layers of each kind of attention."""
        layers = {"encoder": self.encoder_layers, "decoder": self.decoder_layers, "cross": self.decoder_layers}
        return {kind: layers[kind] for kind in FAMILIES[self.family]}

    def resized(self, layers: int = 0, **sizes: int) -> Architecture:
        """Returns a copy with other sizes, 0 for no change. `layers` applies to each stack. Raises as the constructor."""
        named = {f"{stack}_layers": layers for stack in ("encoder", "decoder") if stack in self.attentions}
        return dataclasses.replace(self, **{name: value for name, value in (named | sizes).items() if value})


def of_config(config: ModelConfig) -> Architecture:
    """Returns the architecture of a model configuration."""
    stacks = [kind for kind in config.kinds if kind != "cross"]
    return Architecture(
        config.family,
        config.encoder_layers,
        config.decoder_layers,
        config.d_model,
        config.heads,
        config.d_ff,
        config.target_vocab,
        0 if config.joint_vocab else config.source_vocab,
        positions=config.max_positions * len(stacks) * config.scheme.has_table,
        segments=config.segments,
        gated=ACTIVATIONS[config.activation].is_gated,
        norm_biases=config.norm == "layernorm",
        outer_norms=len(stacks) * config.final_norm + config.embedding_norm,
        tied=config.tied_output,
        output_bias=config.output_bias,
        transforms=int(config.output_transform),
        poolers=int(config.pooler),
        choices=2 * config.follows + len(config.classes),
        projects=not config.classes,
    )


def parameters(of: Architecture) -> dict[str, int]:
    """Returns the number of parameters by part. The part "pooler" includes the heads after it."""
    d, cross = of.d_model, of.attentions.get("cross", 0)
    linears = of.encoder_layers + of.decoder_layers  # feed-forward networks
    inner = 2 if of.gated else 1
    norms = 2 * (of.encoder_layers + of.decoder_layers) + cross + of.outer_norms
    norm = d * (2 if of.norm_biases else 1)
    pooled = of.poolers * (d * d + d) + of.choices * (d + 1)
    parts = {
        "embeddings": (of.vocabulary + of.second_vocabulary + of.segments + of.positions) * d,
        "attention": sum(of.attentions.values()) * 4 * (d * d + d * of.biases),
        "feed-forward": linears * ((inner + 1) * d * of.d_ff + (inner * of.d_ff + d) * of.biases),
        "norms": norms * norm,
        "output": of.vocabulary * (d * (not of.tied) + of.output_bias) + of.transforms * (d * d + d + norm),
    }
    return parts | ({"pooler": pooled} if pooled else {})


def cache_bytes(of: Architecture) -> tuple[int, int]:
    """Returns the bytes of cached keys and values for each target token, and for each source token (cross-attention)."""
    each = 2 * of.d_model * BYTES  # a key and a value of all heads
    return of.attentions.get("decoder", 0) * each, of.attentions.get("cross", 0) * each


def pattern_bytes(of: Architecture, length: int) -> int:
    """Returns the bytes of one layer's self-attention patterns over `length` tokens: H x L x L numbers."""
    return of.heads * length * length * BYTES


def matrix_weights(of: Architecture) -> tuple[int, int]:
    """Returns the matrix weights that a source and a target token pass, 0 for a missing side.

    They include the output projection and exclude table lookups. Source tokens pass cross-attention's key and value
    matrices. A pooler and its heads are excluded: they read one vector a text.
    """
    square, forward = of.d_model**2, (3 if of.gated else 2) * of.d_model * of.d_ff
    encoder, decoder, cross = (of.attentions.get(kind, 0) for kind in ("encoder", "decoder", "cross"))
    output = (of.vocabulary * of.d_model + of.transforms * square) * of.projects
    source = encoder * (4 * square + forward) + cross * 2 * square + (0 if decoder else output)
    return source, decoder * (4 * square + forward) + cross * 2 * square + (output if decoder else 0)


def operations(of: Architecture, length: int) -> tuple[int, int]:
    """Returns the floating-point operations of a forward pass for a source and a target token, in texts of `length` tokens.

    They are two for each weight of `matrix_weights` (compare Kaplan et al. 2020, section 2.1), and 4 L D a layer of
    attention for scores and weighted sums, masked cells included.
    """
    mixed = 4 * length * of.d_model
    encoder, decoder, cross = (of.attentions.get(kind, 0) for kind in ("encoder", "decoder", "cross"))
    source, target = matrix_weights(of)
    return 2 * source + encoder * mixed, 2 * target + (decoder + cross) * mixed


@dataclass(frozen=True)
class Preset:
    """A published model: its sizes, its published number of parameters, and a note on the count."""

    title: str
    architecture: Architecture
    published: float  # parameters
    paper: str
    counted: str  # a sentence: scope of the count, and why the two numbers may differ


def _vaswani(d_model: int, heads: int, d_ff: int) -> Architecture:
    return Architecture("encoder-decoder", 6, 6, d_model, heads, d_ff, 37_000)


def _bert(layers: int, d_model: int, heads: int) -> Architecture:
    return Architecture(
        "encoder-only",
        layers,
        0,
        d_model,
        heads,
        4 * d_model,
        30_522,
        positions=512,
        segments=2,
        outer_norms=1,
        poolers=1,
        projects=False,
    )


def _gpt2(layers: int, d_model: int, heads: int) -> Architecture:
    return Architecture("decoder-only", 0, layers, d_model, heads, 4 * d_model, 50_257, positions=1024, outer_norms=1)


_PAPER, _BERT, _GPT2 = "Vaswani et al. 2017, table 3", "Devlin et al. 2019, section 3", "Radford et al. 2019, as released"
_SHARED = "One table of 37,000 rows for both languages and the output. The paper says “about 37000”."
_POOLED = "With the segment table and the pooler, without the masked-word head."
_TIED = "The output projection is the embedding table. Positions are a table of 1,024 rows."
PRESETS: dict[str, Preset] = {
    "base": Preset("Transformer base", _vaswani(512, 8, 2048), 65e6, _PAPER, _SHARED),
    "big": Preset("Transformer big", _vaswani(1024, 16, 4096), 213e6, _PAPER, _SHARED),
    "bert-base": Preset("BERT base", _bert(12, 768, 12), 110e6, _BERT, _POOLED),
    "bert-large": Preset("BERT large", _bert(24, 1024, 16), 340e6, _BERT, _POOLED),
    "gpt2": Preset("GPT-2 small", _gpt2(12, 768, 12), 124e6, _GPT2, _TIED),
    "gpt2-medium": Preset("GPT-2 medium", _gpt2(24, 1024, 16), 355e6, _GPT2, _TIED),
    "gpt2-large": Preset("GPT-2 large", _gpt2(36, 1280, 20), 774e6, _GPT2, _TIED),
    "gpt2-xl": Preset("GPT-2 XL", _gpt2(48, 1600, 25), 1.558e9, _GPT2, _TIED),
}
