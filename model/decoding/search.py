"""Greedy decoding, sampling and beam search, which share the computation of a step."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor

from ..config import END, MAX_TOKENS, PAD, START
from ..edits.apply import BatchEdits
from ..edits.intervention import BASELINE, Intervention
from ..network import masks
from ..network.context import Cache, DonorRun, Pass
from ..network.transformer import Transformer
from . import fast, fast_passes, uncached
from .hypotheses import Hypothesis, Tree
from .sampling import EXCLUDED_IDS, check_settings, choices
from .uncached import Recorder

MAX_LOGITS = 1 << 25  # computed at once, to bound memory for large vocabularies


class _Steps:
    """One model under the edits of a batch, with its state between steps."""

    def __init__(
        self,
        model: Transformer,
        source: Tensor | None,
        edits: BatchEdits,
        prefix: Sequence[int],
        limit: int,
        use_cache: bool,
        recorder: Recorder | None,
    ) -> None:
        if len(prefix) >= limit:
            raise ValueError(f"the prefix has {len(prefix)} tokens; expected fewer than the limit of {limit}")
        self.model, self.edits, self.recorder, self.prefix = model, edits, recorder, prefix
        # Without the causal mask an earlier position depends on later ones, so nothing can be cached.
        self.cache = Cache() if use_cache and model.config.causal and edits.causal else None
        self.row_count = 1 if source is None else source.size(0)
        self.device = next(model.parameters()).device
        self.memory = self.cross_mask = self.donor_run = None
        if edits.donor is not None:
            self.donor_run = DonorRun(model, edits.donor, self.device, self.cache is not None)
        is_fast = use_cache and fast.can_decode(model, edits)
        prepared = fast.prepare(model) if is_fast else None  # once: it looks at all weights
        if source is not None:
            encoder_mask = masks.encoder_mask(model.config, source, edits.rows)
            context = Pass(
                edits, recorder and recorder.encoder_probe, donor_probe=self.donor_run and self.donor_run.encoder_probe
            )
            encode = functools.partial(fast_passes.encode, model, prepared) if is_fast else model.encode
            self.memory = encode(source, encoder_mask, context)  # [B,S,D]
            self.cross_mask = masks.cross_mask(source, edits.rows).expand(self.row_count, 1, 1, -1)  # [B,1,1,S]
        self.fast_steps: fast.FastSteps | uncached.UncachedSteps | None = None
        if is_fast and self.cache is not None:
            self.fast_steps = fast.FastSteps(
                model, self.memory, self.cross_mask, self.row_count, limit, recorder is not None, prepared
            )
        elif is_fast:
            self.fast_steps = uncached.UncachedSteps(model, self.memory, self.cross_mask, prepared)

    def prefill(self) -> tuple[Tensor, Tensor]:
        """Computes the forced prefix of P tokens in one pass, except the step that predicts its last token.

        Returns the decoder inputs so far [N,P], and the log-probabilities of the P-1 computed tokens [N,P-1]. Without a
        cache no pass can serve several steps: then the inputs are `<s>` alone.
        """
        start = torch.full((self.row_count, 1), START, device=self.device)  # [N,1]
        if self.cache is None or len(self.prefix) < 2 or END in self.prefix[:-1]:
            return start, torch.zeros(self.row_count, 0, device=self.device)
        forced = torch.tensor([self.prefix[:-1]], device=self.device).expand(self.row_count, -1)  # [N,P-1]
        target = torch.cat((start, forced), dim=1)  # [N,P]
        if isinstance(self.fast_steps, fast.FastSteps):
            hidden = fast_passes.prefill(self.fast_steps, target[:, :-1], self.edits)  # [N,P-1,D]
            project = self.fast_steps.prepared.projection
        else:
            hidden, project = self._hidden(target[:, :-1], self.edits, 0), self.model.project
        rows = max(1, MAX_LOGITS // self.model.config.target_vocab)
        chunks = zip(hidden.flatten(0, 1).split(rows), forced.flatten().split(rows), strict=True)
        log_probs = [project(x).float().log_softmax(-1).gather(1, ids[:, None]) for x, ids in chunks]
        return target, torch.cat(log_probs).view(self.row_count, -1)

    def log_probs(self, target: Tensor, edits: BatchEdits) -> Tensor:
        """Returns the next token's log-probabilities [N,V] for decoder inputs [N,T]."""
        if self.fast_steps is not None:
            return self.fast_steps.log_probs(target, edits)
        hidden = self._hidden(target, edits, target.size(1) - 1 if self.cache is not None else 0)
        return self.model.project(hidden[:, -1]).float().log_softmax(-1)

    def _hidden(self, target: Tensor, edits: BatchEdits, start: int) -> Tensor:
        """Returns the final states [N,T-start,D] of decoder inputs [N,T]; those before `start` are cached."""
        fresh = target[:, start:]
        mask = masks.decoder_mask(self.model.config, target, edits.rows, fresh.size(1))
        donor_probe = (
            self.donor_run.run_decoder(target, start) if self.donor_run and "target" in self.edits.patched_sides else None
        )
        context = Pass(edits, cache=self.cache, start=start, donor_probe=donor_probe)
        return self.model.decode(fresh, self.memory, mask, self.cross_mask, context)

    def record(self, row: int, ids: tuple[int, ...]) -> None:
        """Stores the tensors of a row of the batch in the recorder, under the ids of its path."""
        if isinstance(self.fast_steps, fast.FastSteps) and self.recorder is not None:
            self.recorder.paths[ids] = self.fast_steps.recorded_path(row, len(ids), self.edits.select([0]))

    def select(self, chosen: list[int]) -> None:
        """Keeps these rows of the batch, in this order; a row may occur twice."""
        if self.fast_steps is not None:
            self.fast_steps.select(chosen)
            return
        rows = torch.tensor(chosen, device=self.device)
        if self.memory is not None:
            self.memory, self.cross_mask = self.memory[rows], self.cross_mask[rows]
        if self.cache is not None:
            self.cache.select(rows)
        if self.donor_run is not None:
            self.donor_run.select(rows)


@torch.inference_mode()
def greedy(
    model: Transformer,
    source: Tensor | None,
    edits: Sequence[Intervention] | BatchEdits = (BASELINE,),
    prefix: Sequence[int] = (),
    max_total_tokens: int = MAX_TOKENS,
    use_cache: bool = True,
    recorder: Recorder | None = None,
) -> list[Hypothesis]:
    """Returns the path of the most probable token at every step, for each row of source ids [B,S].

    `prefix` is forced at the start of every row. A row ends with `</s>` or at `max_total_tokens` tokens. With the causal
    mask, one pass computes the prefix, and without patches `recorder` gets the tensors of the first row's path. Without it,
    each step computes the full prefix again.

    Raises ValueError if the prefix fills the limit.
    """
    return _decode_rows(model, source, choose_greedy, edits, prefix, max_total_tokens, use_cache, recorder)


@torch.inference_mode()
def sample(
    model: Transformer,
    source: Tensor | None,
    seed: int,
    temperature: float = 1.0,
    top_k: int = 0,
    top_p: float = 1.0,
    edits: Sequence[Intervention] | BatchEdits = (BASELINE,),
    prefix: Sequence[int] = (),
    max_total_tokens: int = MAX_TOKENS,
    use_cache: bool = True,
    recorder: Recorder | None = None,
) -> list[Hypothesis]:
    """Returns a sampled path (see `sampling.choices`) for each row of source ids [B,S]; other arguments as in `greedy`.

    Every row has its own generator with this seed, so a sentence gets the same text alone and in a batch. A temperature of 0
    is greedy decoding. The returned log-probabilities are those before the temperature.

    Raises ValueError for settings out of range, and if the prefix fills the limit.
    """
    check_settings(temperature, top_k, top_p)
    generators = [np.random.default_rng(seed) for _ in range(1 if source is None else source.size(0))]

    def draw(log_probs: Tensor) -> Tensor:
        rows = zip(log_probs.cpu().numpy(), generators, strict=True)
        ids = [choices(row, temperature, top_k, top_p).draw(generator.random()) for row, generator in rows]
        return torch.tensor(ids, device=log_probs.device)

    return _decode_rows(
        model, source, choose_greedy if temperature == 0 else draw, edits, prefix, max_total_tokens, use_cache, recorder
    )


def _decode_rows(
    model: Transformer,
    source: Tensor | None,
    choose_next: Callable[[Tensor], Tensor],
    edits: Sequence[Intervention] | BatchEdits,
    prefix: Sequence[int],
    max_total_tokens: int,
    use_cache: bool,
    recorder: Recorder | None,
) -> list[Hypothesis]:
    """Returns one path a row; `choose_next` maps log-probabilities [B,V] to the next tokens [B]."""
    edits = _as_edits(edits)
    steps = _Steps(model, source, edits, prefix, max_total_tokens, use_cache, recorder)
    target, forced_log_probs = steps.prefill()  # [B,T], [B,T-1]
    has_ended = torch.zeros(steps.row_count, dtype=torch.bool, device=steps.device)
    chosen_log_probs = [*forced_log_probs.unbind(1)]
    for step in range(len(chosen_log_probs), max_total_tokens):
        log_probs = steps.log_probs(target, edits)  # [B,V]
        is_forced = step < len(prefix)
        token = torch.full_like(target[:, 0], prefix[step]) if is_forced else choose_next(log_probs)  # [B]
        token = token.masked_fill(has_ended, PAD)
        chosen_log_probs.append(log_probs.gather(1, token[:, None])[:, 0])
        target = torch.cat((target, token[:, None]), dim=1)  # [B,T]
        has_ended |= token == END
        if has_ended.all():
            break
    scores = torch.stack(chosen_log_probs, dim=1).tolist()
    paths = [_hypothesis(ids[1:], row) for ids, row in zip(target.tolist(), scores, strict=True)]
    steps.record(0, paths[0].ids)
    return paths


@torch.inference_mode()
def beam(
    model: Transformer,
    source: Tensor | None,
    width: int,
    alpha: float = 0.0,
    edits: Sequence[Intervention] | BatchEdits = (BASELINE,),
    prefix: Sequence[int] = (),
    max_total_tokens: int = MAX_TOKENS,
    use_cache: bool = True,
    recorder: Recorder | None = None,
) -> list[Tree]:
    """Returns the `width` best paths of beam search for each row of source ids [B,S], best first.

    Each step continues the best extensions of a row's live paths, by summed log-probability. A path that ends with `</s>`
    keeps its place in the beam, so each row ends with `width` hypotheses (fewer if fewer exist), ranked by score over
    `length_penalty`. A width of 1 is greedy decoding. `prefix`, `max_total_tokens` and the cache are as in `greedy`. The
    tree also has the pruned paths; `recorder` gets the tensors of the others.

    Raises ValueError for a width below 1, a negative or infinite alpha, and a prefix that fills the limit.
    """
    if width < 1:
        raise ValueError(f"the beam's width is {width}; expected at least 1")
    if not 0 <= alpha < math.inf:
        raise ValueError(f"the length penalty's alpha is {alpha}; expected a number of at least 0")
    edits = _as_edits(edits)
    steps = _Steps(model, source, edits, prefix, max_total_tokens, use_cache, recorder)
    target, forced_log_probs = steps.prefill()  # [N,T], [N,T-1]; N live paths of all rows
    beams = _Beams(
        [Hypothesis(tuple(prefix[: len(row)]), tuple(row)) for row in forced_log_probs.tolist()], width, max_total_tokens
    )
    for step in range(target.size(1) - 1, max_total_tokens):
        log_probs = steps.log_probs(target, edits.select([row for row, _ in beams.live_paths]))  # [N,V]
        parents = beams.extend(log_probs, prefix[step : step + 1])
        for row, parent, path in beams.ended_paths:
            if row == 0:
                steps.record(parent, path.ids)
        if not parents:
            break
        rows = torch.tensor(parents, device=steps.device)
        newest = torch.tensor([path.ids[-1:] for _, path in beams.live_paths], device=steps.device)  # [N,1]
        target = torch.cat((target[rows], newest), dim=1)  # [N,T]
        steps.select(parents)
    ranked = (tuple(sorted(paths, key=lambda h: -h.normalised_score(alpha))) for paths in beams.finished_paths)
    return [Tree(paths, tuple(pruned)) for paths, pruned in zip(ranked, beams.pruned, strict=True)]


@torch.inference_mode()
def stepwise_log_probs(
    model: Transformer, source: Tensor | None, target: Sequence[int], edits: BatchEdits, prefilled: int = 0
) -> Tensor | None:
    """Returns the log-probabilities [T,V] of the steps that decode a target with a cache; source ids [1,S].

    One pass computes the first `prefilled` steps, whose rows are left out. Returns None where decoding has no cache.
    """
    steps = _Steps(model, source, edits, target[: prefilled + 1], len(target) + 1, True, None)
    if steps.cache is None:
        return None
    inputs, rows = steps.prefill()[0], []  # [1,T]
    for token in target[inputs.size(1) - 1 :]:
        rows.append(steps.log_probs(inputs, edits)[0])
        inputs = torch.cat((inputs, inputs.new_tensor([[token]])), dim=1)
    return torch.stack(rows)


class _Beams:
    """The live, finished and pruned paths of all rows of a beam search."""

    def __init__(self, prefixes: Sequence[Hypothesis], width: int, limit: int) -> None:
        """`prefixes` has the path of each row so far."""
        self.width, self.limit = width, limit
        self.live_paths = [*enumerate(prefixes)]
        self.finished_paths: list[list[Hypothesis]] = [[] for _ in prefixes]
        self.pruned: list[list[Hypothesis]] = [[] for _ in prefixes]
        self.ended_paths: list[tuple[int, int, Hypothesis]] = []  # at this step: row, number of the parent path, path

    def extend(self, log_probs: Tensor, forced_token: Sequence[int]) -> list[int]:
        """Extends the live paths by one token, from next-token log-probabilities [N,V].

        `forced_token` is one token or empty. Returns the number of the parent path of each live path.
        """
        live: list[tuple[int, int, Hypothesis]] = []  # row, number of the parent path, path
        self.ended_paths = []
        expanded: set[int] = set()
        for row, candidates in self._extensions(log_probs, forced_token).items():
            for _, parent, token, log_prob in candidates[: self.width - len(self.finished_paths[row])]:
                before = self.live_paths[parent][1]
                path = Hypothesis((*before.ids, token), (*before.log_probs, log_prob))
                expanded.add(parent)
                if path.is_finished or len(path.ids) == self.limit:
                    self.finished_paths[row].append(path)
                    self.ended_paths.append((row, parent, path))
                else:
                    live.append((row, parent, path))
        for number, (row, path) in enumerate(self.live_paths):
            if number not in expanded and path.ids:
                self.pruned[row].append(path)
        self.live_paths = [(row, path) for row, _, path in live]
        return [parent for _, parent, _ in live]

    def _extensions(self, log_probs: Tensor, forced_token: Sequence[int]) -> dict[int, list[tuple[float, int, int, float]]]:
        """Returns the extensions of each row's paths, best first: (new score, number of path, token, log-probability)."""
        if forced_token:
            tokens = torch.full_like(log_probs[:, :1], forced_token[0], dtype=torch.long)  # [N,1]
            values = log_probs.gather(1, tokens)
        else:
            count = min(self.width, log_probs.size(1) - len(EXCLUDED_IDS))
            values, tokens = suppress_excluded(log_probs).topk(count)  # [N,width]
        extensions: dict[int, list[tuple[float, int, int, float]]] = {}
        for parent, ((row, path), ids, gains) in enumerate(
            zip(self.live_paths, tokens.tolist(), values.tolist(), strict=True)
        ):
            score = path.score
            extensions.setdefault(row, []).extend(
                (score + gain, parent, i, gain) for i, gain in zip(ids, gains, strict=True)
            )
        for candidates in extensions.values():
            candidates.sort(key=lambda candidate: -candidate[0])
        return extensions


def _as_edits(edits: Sequence[Intervention] | BatchEdits) -> BatchEdits:
    return edits if isinstance(edits, BatchEdits) else BatchEdits(edits)


def choose_greedy(log_probs: Tensor) -> Tensor:
    """Returns the most probable token that a sentence may contain, [...,V] to [...]."""
    first = len(EXCLUDED_IDS)  # they are the first ids, so that no copy is needed
    return log_probs[..., first:].argmax(-1) + first


def suppress_excluded(log_probs: Tensor) -> Tensor:
    """Returns log-probabilities [B,V] with minus infinity for tokens that no sentence contains."""
    return log_probs.index_fill(-1, torch.tensor(EXCLUDED_IDS, device=log_probs.device), -torch.inf)


def _hypothesis(ids: list[int], log_probs: list[float]) -> Hypothesis:
    length = ids.index(END) + 1 if END in ids else len(ids)
    return Hypothesis(tuple(ids[:length]), tuple(log_probs[:length]))
