"""Matching of heads between training seeds, by the distance of their patterns over many sentences, against chance.

The named roles are also measured in each checkpoint. All checkpoints read the same tokens with a forced target, so their
maps have the same axes. Rows with one allowed key are equal in every head and left out.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ...checkpoint import Checkpoint
from ...config import END, MAX_TOKENS
from ...edits.intervention import BASELINE
from ...inference.passes import teacher_force
from ...inference.source_reading import source_ids
from ...readings.heads.head_metrics import Rows
from ...readings.heads.head_roles import MIN_ROWS, ROLES, Role, peak_at, weight_on_token
from ...trace import Trace, site_kind
from ...variants.same_heads import Best, Circle, KindMatch, RoleHeads, SameHeads, SiteMatch
from ..sharding import ordered_map
from .heads_report import CorpusLine


def assignment(costs: np.ndarray) -> list[int]:
    """Returns the column for each row of [N,N], each column once, with the smallest sum.

    The Hungarian method (Kuhn 1955) with potentials and shortest augmenting paths (Jonker and Volgenant 1987): at most N^3
    steps. Raises ValueError for costs that are not square, or not finite.
    """
    if costs.ndim != 2 or costs.shape[0] != costs.shape[1]:
        raise ValueError(f"the costs have the shape {costs.shape}; expected as many rows as columns")
    if not np.isfinite(costs).all():
        raise ValueError("a cost is no finite number")
    size = len(costs)
    of_rows, of_columns = np.zeros(size + 1), np.zeros(size + 1)  # potentials; a path begins in row and column 0
    taken_by = np.zeros(size + 1, dtype=int)  # the row, from 1, that has each column; 0: none
    for row in range(1, size + 1):
        taken_by[0], column = row, 0
        shortest, came_from = np.full(size + 1, np.inf), np.zeros(size + 1, dtype=int)
        seen = np.zeros(size + 1, dtype=bool)
        while taken_by[column]:
            seen[column] = True
            current = taken_by[column]
            reduced = np.append(np.inf, costs[current - 1] - of_rows[current] - of_columns[1:])
            nearer = ~seen & (reduced < shortest)
            shortest[nearer], came_from[nearer] = reduced[nearer], column
            column = int(np.where(seen, np.inf, shortest).argmin())
            step = shortest[column]
            of_rows[taken_by[seen]] += step
            of_columns[seen] -= step
            shortest[~seen] -= step
        while column:
            taken_by[column], column = taken_by[came_from[column]], int(came_from[column])
    columns = np.empty(size, dtype=int)
    columns[taken_by[1:] - 1] = np.arange(size)
    return columns.tolist()


SHUFFLES, SEED = 199, 1
DIGITS = 5
CROSS_ROLES = {  # roles of cross-attention, with the thresholds of self-attention
    role.name: role
    for role in (
        Role(
            "diagonal head",
            "In {share} of {rows} rows its largest weight is on the token of its own number.",
            peak_at(0),
            0.9,
        ),
        Role(
            "attention sink on </s>",
            "{share} of its weight goes to </s>, the mean over {rows} rows.",
            weight_on_token("</s>"),
            0.3,
        ),
    )
}
Pair = tuple[int, int]


def match_seeds(
    labs: Sequence[Checkpoint],
    lines: Sequence[CorpusLine],
    data: str,
    names: Sequence[str],
    progress: Callable[[int], None] = lambda done: None,
) -> SameHeads:
    """Matches the heads over the lines within the text limit. `data` is the SHA-256 of their file.

    Raises ValueError for fewer than two checkpoints, for other shapes or tokens than the first, and where no line is left.
    """
    check_shapes(labs, names)
    over = _PatternDistances(labs)

    def measure(line: CorpusLine) -> dict[str, _KindSums] | None:
        return over.measure([_trace_line(lab, line, name, labs[0]) for lab, name in zip(labs, names, strict=True)])

    for sums in ordered_map(measure, lines):
        over.add(sums)
        progress(1)
    if not over.sentences:
        raise ValueError("no sentence is within the text limit; expected at least one")
    pairs = list(itertools.combinations(range(len(labs)), 2))
    kinds = labs[0].config.layers
    sites = [
        over.site_match(pair, kind, layer) for pair in pairs for kind, layers in kinds.items() for layer in range(layers)
    ]
    return SameHeads(
        tuple(names),
        over.sentences,
        len(lines) - over.sentences,
        SHUFFLES,
        SEED,
        data,
        tuple(sites),
        tuple(over.kind_match(pair, kind) for pair in pairs for kind in kinds),
        tuple(_cycle_consistency(sites, kind, len(labs), labs[0].config.heads) for kind in kinds) if len(labs) > 2 else (),
        tuple(over.roles()),
    )


def check_shapes(labs: Sequence[Checkpoint], names: Sequence[str]) -> None:
    """Raises ValueError unless there are at least two checkpoints of one family, with equal layers and heads."""
    if len(labs) < 2:
        raise ValueError(f"there is {len(labs)} checkpoint; expected at least two")
    for lab, name in zip(labs[1:], names[1:], strict=True):
        for field in ("family", "encoder_layers", "decoder_layers", "heads"):
            first, own = getattr(labs[0].config, field), getattr(lab.config, field)
            if first != own:
                raise ValueError(f"{name} has {field} {own}, and {names[0]} {first}; expected checkpoints of one shape")


def _trace_line(lab: Checkpoint, line: CorpusLine, name: str, first: Checkpoint) -> Trace | None:
    """Returns the pass over a line; None where it is over the text limit."""
    source, target = _token_ids(lab, line)
    if (source, target) != _token_ids(first, line):
        raise ValueError(f"{name} reads line {line.number} as other tokens than the first; expected one vocabulary")
    if max(len(source or ()), len(target or ())) > MAX_TOKENS:
        return None
    (trace,) = teacher_force(lab, source, target, [BASELINE])
    return trace


def _token_ids(lab: Checkpoint, line: CorpusLine) -> tuple[list[int] | None, list[int] | None]:
    """Returns the tokens of the encoder and the decoder; None for a side that the model lacks."""
    kinds, text = lab.config.kinds, source_ids(lab, line.source)
    if "decoder" not in kinds:
        return text, None
    if "encoder" not in kinds:
        return None, text
    return text, [*lab.target_tokenizer.encode(line.target), END]


def roles_of(kind: str) -> dict[str, Role]:
    """Returns the roles of a kind of attention, by name."""
    return ROLES if site_kind(kind).is_self else CROSS_ROLES


def distances(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Returns the total variation between rows of patterns [N,R,S] and [M,R,S], summed over rows: [N,M]."""
    return np.array([np.abs(head - other).sum((1, 2), dtype=np.float64) / 2 for head in one])


@dataclass(frozen=True)
class _KindSums:
    """Numbers of one sentence and kind: its rows, the distances of each pair [N,N], the sums of each checkpoint's roles."""

    rows: int
    distances: dict[Pair, np.ndarray]
    roles: list[np.ndarray]  # [2,roles,N] each: sum over rows, and number of rows


class _PatternDistances:
    """Sums over sentences.

    For each pair of checkpoints and kind: the distances of all heads, layer by layer, one [N,N] per sentence, and the
    number of rows. For each checkpoint: the sums for the roles.
    """

    def __init__(self, labs: Sequence[Checkpoint]) -> None:
        self.labs, self.heads, self.kinds = labs, labs[0].config.heads, labs[0].config.layers
        self.sentences = 0
        self._pairs = list(itertools.combinations_with_replacement(range(len(labs)), 2))
        self._sums: dict[tuple[Pair, str], list[np.ndarray]] = {(p, kind): [] for p in self._pairs for kind in self.kinds}
        self._rows: dict[str, list[int]] = {kind: [] for kind in self.kinds}
        self._roles: dict[tuple[int, str], np.ndarray] = {}  # [2,roles,N]: sum over rows, and number of rows

    def add(self, sums: dict[str, _KindSums] | None) -> None:
        """Adds the numbers of a sentence; None is left out."""
        if sums is None:
            return
        self.sentences += 1
        for kind, own in sums.items():
            self._rows[kind].append(own.rows)
            for pair, between in own.distances.items():
                self._sums[pair, kind].append(between)
            for n, each in enumerate(own.roles):
                self._roles[n, kind] = self._roles.get((n, kind), 0) + each

    def measure(self, traces: Sequence[Trace | None]) -> dict[str, _KindSums] | None:
        """Returns the numbers of a sentence by kind of attention; None where a checkpoint has no trace of it."""
        if None in traces:
            return None
        result = {}
        for kind in self.kinds:
            sites = traces[0].sites(kind)
            allowed = np.any([trace.masks[site] for trace in traces for site in sites], axis=0)  # [T,S]
            informative = allowed.sum(-1) > 1
            all_patterns = [np.concatenate([trace.patterns[site] for site in sites]) for trace in traces]  # [N,T,S] each
            patterns = [each[:, informative] for each in all_patterns]  # [N,R,S]
            roles = []
            for n, each in enumerate(all_patterns):
                rows = Rows.of(each, traces[n].keys(sites[0]))
                roles.append(np.stack(rows.sums(role.measure for role in roles_of(kind).values())))  # [2,roles,N]
            between = {pair: distances(patterns[pair[0]], patterns[pair[1]]) for pair in self._pairs}
            result[kind] = _KindSums(int(informative.sum()), between, roles)
        return result

    def _costs(self, pair: Pair, kind: str, layer: int | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Returns the summed distances of the heads of a layer, or of all, per sentence [Q,N,N], and its rows [Q]."""
        mine = slice(None) if layer is None else slice(layer * self.heads, (layer + 1) * self.heads)
        return np.array(self._sums[pair, kind])[:, mine, mine], np.array(self._rows[kind])

    def site_match(self, pair: Pair, kind: str, layer: int) -> SiteMatch:
        sums, rows = self._costs(pair, kind, layer)
        costs = mean(sums, rows)  # [H,H]
        partners = assignment(costs)
        each = costs[np.arange(self.heads), partners]
        matched = float(each.mean())
        chance = chance_distances(sums, rows)
        return SiteMatch(
            *pair,
            kind,
            layer,
            tuple(partners),
            tuple(round(float(value), DIGITS) for value in each),
            round(matched, DIGITS),
            _rounded(cross_validated_distance(sums, rows)),
            round(float(costs.mean()), DIGITS),
            round(float(chance.mean()), DIGITS),
            round((1 + int((chance <= matched + 1e-12).sum())) / (1 + SHUFFLES), DIGITS),
            _rounded(self._own(pair, kind, layer)),
        )

    def _own(self, pair: Pair, kind: str, layer: int) -> float | None:
        """Returns the mean distance of different heads within one checkpoint, over both; None where there is one head."""
        if self.heads == 1:
            return None
        apart = ~np.eye(self.heads, dtype=bool)
        return float(np.mean([mean(*self._costs((n, n), kind, layer))[apart].mean() for n in pair]))

    def kind_match(self, pair: Pair, kind: str) -> KindMatch:
        costs = mean(*self._costs(pair, kind))  # [N,N]
        partners = np.array(assignment(costs))
        own = np.arange(len(partners))
        same = float((partners // self.heads == own // self.heads).mean())
        matched = float(costs[own, partners].mean())
        return KindMatch(*pair, kind, round(matched, DIGITS), round(same, DIGITS), round(1 / self.kinds[kind], DIGITS))

    def roles(self) -> list[RoleHeads]:
        """Returns every role in every kind of attention."""
        roles = []
        for kind in self.kinds:
            for number, role in enumerate(roles_of(kind).values()):
                best = [self._best(self._roles[n, kind][:, number], role.bar) for n in range(len(self.labs))]
                roles.append(RoleHeads(role.name, role.bar, kind, tuple(best)))
        return roles

    def _best(self, totals: np.ndarray, bar: float) -> Best:
        """Returns the head with the largest share of sums and counts [2,N]. A head with too few rows has no share."""
        sums, counts = totals
        shares = np.where(counts >= MIN_ROWS, sums / np.maximum(1, counts), -1.0)
        layer, head = divmod(int(shares.argmax()), self.heads)
        share = float(shares.max())
        return Best(layer, head, _rounded(share if share >= 0 else None), int((shares >= bar).sum()))


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, DIGITS)


def mean(sums: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Returns the mean over all rows of sums [Q,N,N] per sentence: [N,N]; 0 where there is no row."""
    return sums.sum(0) / max(1, int(rows.sum()))


def cross_validated_distance(sums: np.ndarray, rows: np.ndarray) -> float | None:
    """Returns the mean distance of pairs chosen on the other half of the sentences [Q,N,N]; None for one sentence."""
    if len(sums) < 2:
        return None
    halves = [mean(sums[start::2], rows[start::2]) for start in (0, 1)]
    own = np.arange(sums.shape[1])
    return float(np.mean([there[own, assignment(here)].mean() for here, there in (halves, halves[::-1])]))


def chance_distances(sums: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Returns the smallest mean distance after shuffling the other's heads in each sentence [Q,N,N]: [SHUFFLES]."""
    rng, size = np.random.default_rng(SEED), sums.shape[1]
    own, means = np.arange(size), []
    for _ in range(SHUFFLES):
        order = rng.permuted(np.tile(own, (len(sums), 1)), axis=1)  # [Q,N]
        costs = mean(np.take_along_axis(sums, order[:, None], axis=2), rows)
        means.append(costs[own, assignment(costs)].mean())
    return np.array(means)


def _cycle_consistency(sites: Sequence[SiteMatch], kind: str, count: int, heads: int) -> Circle:
    """Returns the share of heads that match the same head directly and over a third checkpoint."""
    partners = {(each.one, each.other, each.layer): each.partners for each in sites if each.kind == kind}
    layers = sorted({layer for _, _, layer in partners})
    closed = [
        partners[b, c, layer][partners[a, b, layer][head]] == partners[a, c, layer][head]
        for a, b, c in itertools.combinations(range(count), 3)
        for layer in layers
        for head in range(heads)
    ]
    return Circle(kind, round(float(np.mean(closed)), DIGITS), round(1 / heads, DIGITS))
