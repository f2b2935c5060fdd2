"""Architecture of a checkpoint: every block with its module, its parameters and its shapes on a sentence.

The blocks come from the modules, in the order of the computation. A shared parameter counts in its first block.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from torch import nn

from ...checkpoint import Checkpoint
from ...config import ACTIVATIONS
from ...inference.analysis import Analysis
from ...inference.passes import teacher_force
from ...io.package_names import PACKAGE
from ...network.attention import MultiHeadAttention
from ...network.context import shift_right
from ...network.layers import FeedForward, Residual
from ...network.transformer import Embedding
from ...text.tokenizer import Tokenizer

Column = Literal["encoder", "decoder"]


@dataclass(frozen=True)
class Shape:
    """A named tensor: the letters of its axes (see `model.config`) and their lengths on this sentence."""

    name: str
    letters: tuple[str, ...]
    numbers: tuple[int, ...]


@dataclass(frozen=True)
class Term:
    """The weights of one module within a block: its name there, the shapes of its parameters and their size."""

    name: str
    shapes: tuple[tuple[int, ...], ...]
    count: int


@dataclass(frozen=True)
class ArchitectureBlock:
    """One block of the architecture, as in figure 1 of Vaswani et al. (2017)."""

    key: str  # unique: the path of its module, or another name
    kind: str  # tokens, embedding, segments, positions, norm, attention, feed_forward, add, memory, projection, pooler...
    column: Column
    name: str
    sentence: str  # its function
    shapes: tuple[Shape, ...]  # from input to output
    code: tuple[str, str]  # class or function, and its file
    path: str = ""  # of its module within the model; empty without a module
    site: str | None = None  # kind of attention: encoder, decoder or cross
    layer: int | None = None  # from 0
    sublayer: int | None = None  # from 0, within the layer
    parameters: int = 0
    terms: tuple[Term, ...] = ()
    shared: str = ""  # the block that counts its shared table


def blueprint(checkpoint: Checkpoint, source_length: int, target_length: int) -> tuple[ArchitectureBlock, ...]:
    """Returns every block, the encoder's before the decoder's, each column in the order of the computation.

    The parameters of all blocks add up to the model's. The length of a missing side has no effect.

    Raises:
        ValueError: A length is below 1.
    """
    for stack, name, length in (("encoder", "source_length", source_length), ("decoder", "target_length", target_length)):
        if length < 1 and stack in checkpoint.config.kinds:
            raise ValueError(f"{name} is {length}; expected at least 1")
    return tuple(_Plan(checkpoint, source_length, target_length).blocks())


def sentence_blueprint(checkpoint: Checkpoint, analysis: Analysis) -> tuple[ArchitectureBlock, ...]:
    """Returns every block with the lengths of an analysis."""
    trace = analysis.trace
    return blueprint(checkpoint, max(1, len(trace.source or ())), max(1, len(trace.inputs or ())))


def _code(origin: type | Callable) -> tuple[str, str]:
    """Returns the name of a class or function, and its file."""
    home = origin.__module__
    return origin.__qualname__, home.replace(".", "/") + ".py" if home.startswith(f"{PACKAGE}.") else "torch.nn"


class _Plan:
    """Walks through one model and records the counted parameters."""

    def __init__(self, checkpoint: Checkpoint, source_length: int, target_length: int) -> None:
        self.model, self.config = checkpoint.model, checkpoint.config
        config = checkpoint.config
        self.lengths = {"B": 1, "S": source_length, "T": target_length, "H": config.heads, "K": config.head_dim}
        self.lengths |= {"D": config.d_model, "F": config.d_ff, "V": config.target_vocab}
        self.columns: list[Column] = [column for column in ("encoder", "decoder") if column in config.kinds]
        self.owners: dict[int, str] = {}  # the block that counts a parameter, by the parameter's id

    def blocks(self) -> Iterator[ArchitectureBlock]:
        for column in self.columns:
            yield from self._entrance(column)
            for n, layer in enumerate(getattr(self.model, column)):
                for sublayer, residual in enumerate(layer.residuals):
                    yield from self._sublayer(column, n, sublayer, layer, residual)
            if not isinstance(self.model.get_submodule(f"{column}_norm"), nn.Identity):
                description = f"{self._normalised()} after the last layer."
                yield self._norm(column, f"{column}_norm", "Final ", description)
            if column == "encoder" and "decoder" in self.columns:
                yield self._memory()
        yield from self._exit(self.columns[-1])

    def shape(self, name: str, letters: str, **other: int) -> Shape:
        return Shape(name, tuple(letters), tuple((self.lengths | other)[letter] for letter in letters))

    def block(
        self, kind: str, column: Column, path: str, name: str, sentence: str, shapes: list[Shape], **more
    ) -> ArchitectureBlock:
        """Returns the block of a module, with its class and its parameters."""
        module = self.model.get_submodule(path)
        terms, shared = [], ""
        for part, owner in module.named_modules():
            own = list(owner.parameters(recurse=False)) if kind != "add" or not part else []  # its norm is a separate block
            uncounted = [p for p in own if id(p) not in self.owners]
            if len(uncounted) < len(own):
                shared = next(self.owners[id(p)] for p in own if id(p) in self.owners)
            if uncounted:
                terms.append(Term(part, tuple(tuple(p.shape) for p in uncounted), sum(p.numel() for p in uncounted)))
                self.owners |= {id(p): name for p in uncounted}
        code, count = _code(type(module)), sum(term.count for term in terms)
        return ArchitectureBlock(
            path,
            kind,
            column,
            name,
            sentence,
            tuple(shapes),
            code,
            path=path,
            parameters=count,
            terms=tuple(terms),
            shared=shared,
            **more,
        )

    def _entrance(self, column: Column) -> Iterator[ArchitectureBlock]:
        """Yields the tokens of one side, their table, and the positions added to them."""
        source = column == "encoder"
        side, length, config = ("source", "S", self.config) if source else ("target", "T", self.config)
        entrance: Embedding = self.model.get_submodule(f"{side}_embedding")
        vocabulary = config.source_vocab if source else config.target_vocab
        if source:
            name, code = "Inputs", _code(Tokenizer)
            description = f"The sentence as tokens from a vocabulary of {vocabulary:,}, with </s> at the end."
        else:
            name, code = "Outputs (shifted right)", _code(shift_right)
            description = "At step t the decoder reads the tokens before y(t) and predicts y(t). "
            if config.causal:
                description += "Training runs all steps at once and needs the causal mask."
            else:
                description += "Without a causal mask this checkpoint saw the tokens to predict in training."
        yield ArchitectureBlock(
            f"{side}_tokens", "tokens", column, name, description, (self.shape("ids", f"B{length}"),), code
        )
        ids, rows = self.shape("ids", f"B{length}"), self.shape("rows", f"B{length}D")
        root = math.sqrt(config.d_model)
        scaled = f", and multiplies it by √{config.d_model} = {root:.4g}" if config.embedding_scale else ""
        description = f"Looks up the row of each token, {config.d_model} learned numbers{scaled}."
        name = f"{self._side(column).capitalize()} embedding"
        yield self.block("embedding", column, f"{side}_embedding.table", name, description, [ids, rows])
        if entrance.segments is not None:
            description = "Adds a learned vector to each token, one for each of two sentences."
            shapes = [self.shape("in", f"B{length}D"), self.shape("out", f"B{length}D")]
            yield self.block("segments", column, f"{side}_embedding.segments", "Segments", description, shapes)
        scheme = config.scheme
        if scheme.embedding_effect:
            shapes = [self.shape("in", f"B{length}D"), self.shape("out", f"B{length}D")]
            name, path = f"{scheme.name.capitalize()} positions", f"{side}_embedding.positional"
            yield self.block(
                "positions", column, path, name, scheme.embedding_effect.format(max_positions=config.max_positions), shapes
            )

        if entrance.has_norm:
            description = f"{self._normalised()} before the first layer."
            yield self._norm(column, f"{side}_embedding.norm", "Embedding ", description)

    def _sublayer(
        self, column: Column, n: int, number: int, layer: nn.Module, residual: Residual
    ) -> Iterator[ArchitectureBlock]:
        """Yields the blocks of one sub-layer and its residual connection, in pre-norm or post-norm order."""
        place = {"layer": n, "sublayer": number}
        path = f"{column}.{n}.residuals.{number}"
        length = "S" if column == "encoder" else "T"
        when = "before the sub-layer reads it" if residual.norm_first else "after the sum"
        norm = self._norm(column, f"{path}.norm", "", f"{self._normalised()} {when}.", **place)
        names = [name for name in _SUBLAYERS if hasattr(layer, name)]
        module = getattr(layer, names[number])
        make = self._attention if isinstance(module, MultiHeadAttention) else self._feed_forward
        body = make(column, f"{column}.{n}.{names[number]}", module, **place)
        description = f"Residual connection: adds the output of {_SUBLAYERS[names[number]]} to its input."
        shapes = [self.shape("in", f"B{length}D"), self.shape("out", f"B{length}D")]
        add = self.block("add", column, path, "Add", description, shapes, **place)
        yield from (norm, body, add) if residual.norm_first else (body, add, norm)

    def _norm(self, column: Column, path: str, prefix: str, sentence: str, **place: int) -> ArchitectureBlock:
        length = "S" if column == "encoder" else "T"
        shapes = [self.shape("in", f"B{length}D"), self.shape("out", f"B{length}D")]
        kind = {"layernorm": "LayerNorm", "rmsnorm": "RMSNorm"}[self.config.norm]
        return self.block("norm", column, path, f"{prefix}{kind}", sentence, shapes, **place)

    def _normalised(self) -> str:
        if self.config.norm == "rmsnorm":
            return "Divides each vector by its root mean square and scales it by learned weights,"
        return "Brings each vector to mean 0 and variance 1, then scales and shifts it by learned weights,"

    def _attention(self, column: Column, path: str, module: MultiHeadAttention, **place: int) -> ArchitectureBlock:
        kind, heads, config = module.site.kind, module.heads, self.config
        queries, keys = (
            "S" if side == "source" else "T" for side in (module.site.spec.query_side, module.site.spec.key_side)
        )
        description = {
            "encoder": f"Each source token attends to all source tokens, in {heads} heads.",
            "decoder": "Each target token attends to itself and those before it. The causal mask hides the later ones."
            if config.causal
            else "Each target token attends to all target tokens. This checkpoint has no causal mask.",
            "cross": "Queries come from the target tokens, keys and values from the memory, the encoded source.",
        }[kind]
        if len(self.columns) == 1:  # one side has no name
            description = description.replace("source token", "token").replace("target token", "token")
        names = {"decoder": "Masked self-attention" if config.causal else "Self-attention", "cross": "Cross-attention"}
        name = names.get(kind, "Self-attention")
        if config.window is not None and module.site.spec.is_self:
            description += f" A sliding window of width {config.window} hides distant tokens."
        if module.site.spec.is_self and config.scheme.attention_effect:
            description += f" {config.scheme.attention_effect}"
        shapes = [
            self.shape("in", f"B{queries}D"),
            *([self.shape("memory", f"B{keys}D")] if not module.site.spec.is_self else []),
            self.shape("q", f"BH{queries}K"),
            self.shape("k, v", f"BH{keys}K"),
            self.shape("pattern", f"BH{queries}{keys}"),
            self.shape("z", f"BH{queries}K"),
            self.shape("out", f"B{queries}D"),
        ]
        return self.block("attention", column, path, name, description, shapes, site=kind, **place)

    def _feed_forward(self, column: Column, path: str, module: FeedForward, **place: int) -> ArchitectureBlock:
        length, config = "S" if column == "encoder" else "T", self.config
        step = ACTIVATIONS[config.activation].formula_text
        middle = f"expands {config.d_model} numbers to {config.d_ff:,}{step}"
        description = f"At each position separately: {middle}, and projects them back to {config.d_model}."
        shapes = [self.shape(name, f"B{length}{axis}") for name, axis in (("in", "D"), ("inner", "F"), ("out", "D"))]
        return self.block("feed_forward", column, path, "Feed-forward", description, shapes, **place)

    def _memory(self) -> ArchitectureBlock:
        layers = len(self.model.decoder)
        readers = "the decoder layer reads it through its" if layers == 1 else f"all {layers} decoder layers read it through"
        description = f"The encoder’s output, one vector a token: {readers} cross-attention."
        code = _code(type(self.model).encode)
        return ArchitectureBlock("memory", "memory", "encoder", "Memory", description, (self.shape("memory", "BSD"),), code)

    def _side(self, column: Column) -> str:
        """Returns the name of a column's tokens, "token" for a model with one side."""
        return "token" if len(self.columns) == 1 else {"encoder": "source", "decoder": "target"}[column]

    def _judged(self, column: Column) -> Iterator[ArchitectureBlock]:
        """Yields the blocks from the pooler to the labels' probabilities.

        An unused projection is included only where it has its own weights.
        """
        config = self.config
        if not config.tied_output or config.output_bias or config.output_transform:
            yield from self._projected(column, " It is unused: the labels come from the pooler.")
        yield from self._pooled(column)
        description = "Turns the logits of the labels into probabilities. The most probable label wins."
        shapes = [self.shape(name, "BC", C=len(config.classes)) for name in ("logits", "probabilities")]
        yield ArchitectureBlock("softmax", "softmax", column, "Softmax", description, tuple(shapes), _code(teacher_force))

    def _exit(self, column: Column) -> Iterator[ArchitectureBlock]:
        if self.config.classes:
            yield from self._judged(column)
            return
        yield from self._projected(column)
        length, unit = ("S", "place") if column == "encoder" else ("T", "step")
        description = f"Turns the logits of each {unit} into probabilities. The most probable tokens are the candidates."
        both = tuple(self.shape(name, f"B{length}V") for name in ("logits", "probabilities"))
        yield ArchitectureBlock("softmax", "softmax", column, "Softmax", description, both, _code(teacher_force))
        if self.config.pooler:
            yield from self._pooled(column)

    def _projected(self, column: Column, more: str = "") -> Iterator[ArchitectureBlock]:
        """Yields the blocks that score tokens. `more` is appended to the description."""
        config, length = self.config, "S" if column == "encoder" else "T"
        own = f"that token’s row of the {self._side(column)} embedding"
        table = own if config.tied_output else "separate learned weights"
        bias = ", plus a learned bias" if config.output_bias else ""
        description = f"Scores each of {config.target_vocab:,} tokens: the product of the vector and {table}{bias}.{more}"
        hidden, logits = self.shape("in", f"B{length}D"), self.shape("logits", f"B{length}V")
        if config.output_transform:
            transform = "A linear layer, the activation and a norm, trained to predict the token at a place."
            out = self.shape("out", f"B{length}D")
            yield self.block("transform", column, "transform", "Transform", transform, [hidden, out])
        yield self.block("projection", column, "projection", "Linear", description, [hidden, logits])

    def _pooled(self, column: Column) -> Iterator[ArchitectureBlock]:
        """Yields the blocks that read the full text as one vector."""
        config, labels = self.config, len(self.config.classes)
        read = "the first token’s vector" if config.pooling == "first" else "the mean of all vectors"
        hidden, vector = self.shape("in", "BSD"), self.shape("pooled", "BD")
        description = f"One vector of the full text: a linear layer and tanh of {read}."
        yield self.block("pooler", column, "pooler", "Pooler", description, [hidden, vector])
        if config.follows:
            description = "Scores whether the second sentence follows the first."
            scores = self.shape("logits", "BC", C=2)
            yield self.block("pooler", column, "follows", "Next sentence", description, [vector, scores])
        if labels:
            description = f"Scores each of {labels} labels of the full text."
            yield self.block(
                "pooler", column, "classifier", "Classifier", description, [vector, self.shape("logits", "BC", C=labels)]
            )


_SUBLAYERS = {"self_attention": "self-attention", "cross_attention": "cross-attention", "feed_forward": "feed-forward"}
