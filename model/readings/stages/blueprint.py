"""What a checkpoint is built of: every block with its module, its parameters and its shapes on a sentence.

All is read off the modules themselves, in the order in which a vector passes them; a parameter that two blocks share is
counted where it comes first.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from torch import nn

from model.checkpoint import Checkpoint
from model.config import ACTIVATIONS
from model.inference.passes import teacher_force
from model.network.attention import MultiHeadAttention
from model.network.context import shifted
from model.network.layers import FeedForward, Residual
from model.network.transformer import Embedding
from model.text.tokenizer import Tokenizer

Column = Literal["encoder", "decoder"]


@dataclass(frozen=True)
class Shape:
    """A tensor by name: the letters of its axes (see `model.config`) and their lengths on this sentence.

    S and T are the lengths of the source and of the target.
    """

    name: str
    letters: tuple[str, ...]
    numbers: tuple[int, ...]


@dataclass(frozen=True)
class Term:
    """The weights of one module within a block: its name there, the shapes of its parameters, how many numbers they are."""

    name: str
    shapes: tuple[tuple[int, ...], ...]
    count: int


@dataclass(frozen=True)
class Block:
    """One block of the architecture, as a reader of figure 1 of Vaswani et al. (2017) would point at it."""

    key: str  # unique: the path of its module, or a name of its own
    kind: str  # tokens, embedding, segments, positions, norm, attention, feed_forward, add, memory, projection, pooler...
    column: Column
    name: str
    sentence: str  # what it does
    shapes: tuple[Shape, ...]  # from what goes in to what comes out
    code: tuple[str, str]  # class or function, and the file that it stands in
    path: str = ""  # of its module within the model; empty where it is none
    site: str | None = None  # kind of attention: encoder, decoder or cross
    layer: int | None = None  # from 0
    sublayer: int | None = None  # from 0, within the layer
    parameters: int = 0
    terms: tuple[Term, ...] = ()
    shared: str = ""  # which block's table it uses, where that is counted there


def blueprint(checkpoint: Checkpoint, source_length: int, target_length: int) -> tuple[Block, ...]:
    """Every block, the encoder's before the decoder's, each column in the order of the computation, for a source of S and a
    target of T tokens; the length of a side that the model lacks is not asked for. The parameters of all blocks add up to
    the model's; ValueError for a length below 1."""
    for stack, name, length in (("encoder", "source_length", source_length), ("decoder", "target_length", target_length)):
        if length < 1 and stack in checkpoint.config.kinds:
            raise ValueError(f"{name} is {length}; expected at least 1")
    return tuple(_Plan(checkpoint, source_length, target_length).blocks())


def _code(made: type | Callable) -> tuple[str, str]:
    """Name of a class or function, and the file that it stands in."""
    home = made.__module__
    return made.__qualname__, home.replace(".", "/") + ".py" if home.startswith("model.") else "torch.nn"


class _Plan:
    """Walks through one model and remembers which parameters have been counted."""

    def __init__(self, checkpoint: Checkpoint, source_length: int, target_length: int) -> None:
        self.model, self.config = checkpoint.model, checkpoint.config
        config = checkpoint.config
        self.lengths = {"B": 1, "S": source_length, "T": target_length, "H": config.heads, "K": config.head_dim}
        self.lengths |= {"D": config.d_model, "F": config.d_ff, "V": config.target_vocab}
        self.columns: list[Column] = [column for column in ("encoder", "decoder") if column in config.kinds]
        self.owners: dict[int, str] = {}  # the block that a parameter was counted in, by the parameter's identity

    def blocks(self) -> Iterator[Block]:
        for column in self.columns:
            yield from self._entrance(column)
            for n, layer in enumerate(getattr(self.model, column)):
                for sublayer, residual in enumerate(layer.residuals):
                    yield from self._sublayer(column, n, sublayer, layer, residual)
            if not isinstance(self.model.get_submodule(f"{column}_norm"), nn.Identity):
                said = f"{self._normalised()} once more after the last layer."
                yield self._norm(column, f"{column}_norm", "Final ", said)
            if column == "encoder" and "decoder" in self.columns:
                yield self._memory()
        yield from self._exit(self.columns[-1])

    def shape(self, name: str, letters: str, **other: int) -> Shape:
        return Shape(name, tuple(letters), tuple((self.lengths | other)[letter] for letter in letters))

    def block(self, kind: str, column: Column, path: str, name: str, sentence: str, shapes: list[Shape], **more) -> Block:
        """A block that is a module: its class, its parameters."""
        module = self.model.get_submodule(path)
        terms, shared = [], ""
        for part, owner in module.named_modules():
            own = list(owner.parameters(recurse=False)) if kind != "add" or not part else []  # its norm is a block too
            fresh = [p for p in own if id(p) not in self.owners]
            if len(fresh) < len(own):
                shared = next(self.owners[id(p)] for p in own if id(p) in self.owners)
            if fresh:
                terms.append(Term(part, tuple(tuple(p.shape) for p in fresh), sum(p.numel() for p in fresh)))
                self.owners |= {id(p): name for p in fresh}
        code, count = _code(type(module)), sum(term.count for term in terms)
        found = {"path": path, "parameters": count, "terms": tuple(terms), "shared": shared}
        return Block(path, kind, column, name, sentence, tuple(shapes), code, **found, **more)

    def _entrance(self, column: Column) -> Iterator[Block]:
        """The tokens of one side, their table, and what is added for their positions."""
        source = column == "encoder"
        side, length, config = ("source", "S", self.config) if source else ("target", "T", self.config)
        entrance: Embedding = self.model.get_submodule(f"{side}_embedding")
        vocabulary = config.source_vocab if source else config.target_vocab
        if source:
            name, code = "Inputs", _code(Tokenizer)
            said = (
                f"The sentence as tokens: pieces of words out of {vocabulary:,} that the tokenizer knows, </s> at the end."
            )
        else:
            name, code = "Outputs (shifted right)", _code(shifted)
            said = "At step t the decoder reads what is left of y(t) and predicts y(t). " + (
                "Training does all steps at once, which is why the causal mask is needed."
                if config.causal
                else "Training does all steps at once; without a causal mask this checkpoint saw what it should predict."
            )
        yield Block(f"{side}_tokens", "tokens", column, name, said, (self.shape("ids", f"B{length}"),), code)
        ids, rows = self.shape("ids", f"B{length}"), self.shape("rows", f"B{length}D")
        root = math.sqrt(config.d_model)
        scaled = f", which are then multiplied by √{config.d_model} = {root:.4g}" if config.embedding_scale else ""
        said = f"Looks up the row of each token, {config.d_model} learned numbers{scaled}."
        name = f"{self._side(column).capitalize()} embedding"
        yield self.block("embedding", column, f"{side}_embedding.table", name, said, [ids, rows])
        if entrance.segments is not None:
            said = "Adds to each vector a learned one: the first of two sentences has one, the second another."
            shapes = [self.shape("in", f"B{length}D"), self.shape("out", f"B{length}D")]
            yield self.block("segments", column, f"{side}_embedding.segments", "Segments", said, shapes)
        scheme = config.scheme
        if scheme.adds:
            shapes = [self.shape("in", f"B{length}D"), self.shape("out", f"B{length}D")]
            name, path = f"{scheme.name.capitalize()} positions", f"{side}_embedding.positional"
            yield self.block("positions", column, path, name, scheme.adds.format(max_positions=config.max_positions), shapes)

        if entrance.has_norm:
            said = f"{self._normalised()} before the first layer."
            yield self._norm(column, f"{side}_embedding.norm", "Embedding ", said)

    def _sublayer(self, column: Column, n: int, number: int, layer: nn.Module, residual: Residual) -> Iterator[Block]:
        """What one residual connection goes round, in the order of pre-norm or post-norm."""
        place = {"layer": n, "sublayer": number}
        path = f"{column}.{n}.residuals.{number}"
        length = "S" if column == "encoder" else "T"
        when = "before the sub-layer reads it" if residual.norm_first else "after the sum"
        norm = self._norm(column, f"{path}.norm", "", f"{self._normalised()} {when}.", **place)
        names = [name for name in _SUBLAYERS if hasattr(layer, name)]
        module = getattr(layer, names[number])
        make = self._attention if isinstance(module, MultiHeadAttention) else self._feed_forward
        body = make(column, f"{column}.{n}.{names[number]}", module, **place)
        said = f"Residual connection: adds what {_SUBLAYERS[names[number]]} returns to what the sub-layer began with."
        shapes = [self.shape("in", f"B{length}D"), self.shape("out", f"B{length}D")]
        add = self.block("add", column, path, "Add", said, shapes, **place)
        yield from (norm, body, add) if residual.norm_first else (body, add, norm)

    def _norm(self, column: Column, path: str, prefix: str, sentence: str, **place: int) -> Block:
        length = "S" if column == "encoder" else "T"
        shapes = [self.shape("in", f"B{length}D"), self.shape("out", f"B{length}D")]
        kind = {"layernorm": "LayerNorm", "rmsnorm": "RMSNorm"}[self.config.norm]
        return self.block("norm", column, path, f"{prefix}{kind}", sentence, shapes, **place)

    def _normalised(self) -> str:
        if self.config.norm == "rmsnorm":
            return "Divides each vector by its root mean square and scales it by learned weights,"
        return "Brings each vector to mean 0 and variance 1, then scales and shifts it by learned weights,"

    def _attention(self, column: Column, path: str, module: MultiHeadAttention, **place: int) -> Block:
        kind, heads, config = module.site.kind, module.heads, self.config
        asks, answers = ("S" if side == "source" else "T" for side in (module.site.of.queries, module.site.of.keys))
        said = {
            "encoder": f"Each source token gathers from all source tokens, in {heads} heads that each weigh them anew.",
            "decoder": "Each target token gathers from itself and those before it; the causal mask hides the later ones."
            if config.causal
            else "Each target token gathers from all target tokens: this checkpoint was trained without the causal mask.",
            "cross": "Each target token asks with its query; the memory, the encoded source, answers with keys and values.",
        }[kind]
        if len(self.columns) == 1:  # one side has no name
            said = said.replace("source token", "token").replace("target token", "token")
        names = {"decoder": "Masked self-attention" if config.causal else "Self-attention", "cross": "Cross-attention"}
        name = names.get(kind, "Self-attention")
        if config.window is not None and module.site.of.is_self:
            said += f" A sliding window of width {config.window} hides the far ones."
        if module.site.of.is_self and config.scheme.attends:
            said += f" {config.scheme.attends}"
        shapes = [
            self.shape("in", f"B{asks}D"),
            *([self.shape("memory", f"B{answers}D")] if not module.site.of.is_self else []),
            self.shape("q", f"BH{asks}K"),
            self.shape("k, v", f"BH{answers}K"),
            self.shape("pattern", f"BH{asks}{answers}"),
            self.shape("z", f"BH{asks}K"),
            self.shape("out", f"B{asks}D"),
        ]
        return self.block("attention", column, path, name, said, shapes, site=kind, **place)

    def _feed_forward(self, column: Column, path: str, module: FeedForward, **place: int) -> Block:
        length, config = "S" if column == "encoder" else "T", self.config
        bent = ACTIVATIONS[config.activation]
        middle = f"widens {config.d_model} numbers to {config.d_ff:,}{bent.as_step}"
        said = f"At each position by itself: {middle}, and brings them back to {config.d_model}."
        shapes = [self.shape(name, f"B{length}{axis}") for name, axis in (("in", "D"), ("inner", "F"), ("out", "D"))]
        return self.block("feed_forward", column, path, "Feed-forward", said, shapes, **place)

    def _memory(self) -> Block:
        layers = len(self.model.decoder)
        readers = "the decoder layer reads it through its" if layers == 1 else f"all {layers} decoder layers read it through"
        said = f"What the encoder made of the sentence, one vector a token: {readers} cross-attention."
        code = _code(type(self.model).encode)
        return Block("memory", "memory", "encoder", "Memory", said, (self.shape("memory", "BSD"),), code)

    def _side(self, column: Column) -> str:
        """What the tokens of a column are called: a model with one side needs no name for it."""
        return "token" if len(self.columns) == 1 else {"encoder": "source", "decoder": "target"}[column]

    def _judged(self, column: Column) -> Iterator[Block]:
        """Of a classifier: what makes the labels' probabilities of what is pooled. A projection that nothing reads is not
        drawn where it has no weights of its own."""
        config = self.config
        if not config.tied_output or config.output_bias or config.output_transform:
            yield from self._projected(column, " Nothing reads it: the labels come from the pooler.")
        yield from self._pooled(column)
        said = "Turns the logits of the labels into probabilities that sum to 1: the likeliest is the label of the text."
        shapes = [self.shape(name, "BC", C=len(config.classes)) for name in ("logits", "probabilities")]
        yield Block("softmax", "softmax", column, "Softmax", said, tuple(shapes), _code(teacher_force))

    def _exit(self, column: Column) -> Iterator[Block]:
        if self.config.classes:
            yield from self._judged(column)
            return
        yield from self._projected(column)
        length, at = ("S", "place") if column == "encoder" else ("T", "step")
        said = (
            f"Turns the logits of each {at} into probabilities that sum to 1; the most probable tokens are the candidates."
        )
        both = tuple(self.shape(name, f"B{length}V") for name in ("logits", "probabilities"))
        yield Block("softmax", "softmax", column, "Softmax", said, both, _code(teacher_force))
        if self.config.pooler:
            yield from self._pooled(column)

    def _projected(self, column: Column, more: str = "") -> Iterator[Block]:
        """What scores tokens; `more` is said of it beside."""
        config, length = self.config, "S" if column == "encoder" else "T"
        own = f"that token’s row of the {self._side(column)} embedding"
        table = own if config.tied_output else "learned weights of its own"
        bias = ", plus a learned number of its own" if config.output_bias else ""
        said = f"Scores each of {config.target_vocab:,} tokens: the product of the vector and {table}{bias}.{more}"
        hidden, logits = self.shape("in", f"B{length}D"), self.shape("logits", f"B{length}V")
        if config.output_transform:
            made = "A linear layer, the activation and a norm, trained to say which token stands at a place."
            out = self.shape("out", f"B{length}D")
            yield self.block("transform", column, "transform", "Transform", made, [hidden, out])
        yield self.block("projection", column, "projection", "Linear", said, [hidden, logits])

    def _pooled(self, column: Column) -> Iterator[Block]:
        """What reads the whole text as one vector."""
        config, labels = self.config, len(self.config.classes)
        read = "the first token’s vector" if config.pooling == "first" else "the mean of all vectors"
        hidden, vector = self.shape("in", "BSD"), self.shape("pooled", "BD")
        said = f"One vector of the whole text: a linear layer and tanh of {read}."
        yield self.block("pooler", column, "pooler", "Pooler", said, [hidden, vector])
        if config.follows:
            said = "Scores whether the second sentence follows the first, or comes from elsewhere."
            scores = self.shape("logits", "BC", C=2)
            yield self.block("pooler", column, "follows", "Next sentence", said, [vector, scores])
        if labels:
            said = f"Scores each of {labels} labels of the whole text."
            yield self.block(
                "pooler", column, "classifier", "Classifier", said, [vector, self.shape("logits", "BC", C=labels)]
            )


_SUBLAYERS = {"self_attention": "self-attention", "cross_attention": "cross-attention", "feed_forward": "feed-forward"}
