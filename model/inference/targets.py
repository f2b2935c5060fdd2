"""From a request to ids: its source with padding, and the tree of targets that decoding, or the visitor, gives it."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import torch

from .. import checkpoint as checkpoints
from ..checkpoint import Checkpoint
from ..config import END, MAX_TOKENS, PAD
from ..decoding.hypotheses import Hypothesis, Tree
from ..decoding.uncached import Recorder
from ..edits.intervention import BASELINE, Intervention
from ..text.padding import pad
from ..text.tokenizer import Tokenizer
from .request import PAD_WHEN_UNMASKED, CheckpointName, Request, RequestError
from .source_reading import ONE_ALONE, edits_of, source_ids


def fill_checkpoint(checkpoint: Checkpoint, request: Request) -> Request:
    """Returns the request with the name and the folder of the checkpoint that answers it.

    A request may name the loaded checkpoint by its name or by its folder, or name none. Raises RequestError where it names
    another one.
    """
    asked = request.checkpoint
    is_chosen = not isinstance(asked, CheckpointName) or asked.is_chosen
    if is_chosen and asked != checkpoint.name and not _is_folder_of(checkpoint, asked):
        raise RequestError(
            f"The request names the checkpoint {asked[:200]!r}, and {checkpoint.name!r} is loaded; expected the same one. "
            f"Load the one that the request names, or leave its name out."
        )
    return dataclasses.replace(request, checkpoint=CheckpointName(checkpoint.name, checkpoint.folder))


def _is_folder_of(checkpoint: Checkpoint, asked: str) -> bool:
    """True where a name or a path leads to the folder that a checkpoint was loaded from."""
    try:
        return checkpoint.folder is not None and checkpoints.find(asked).resolve() == checkpoint.folder
    except ValueError:  # there is no such checkpoint
        return False


def encode(tokenizer: Tokenizer, text: str, what: str) -> list[int]:
    """Ids of a text without `</s>`; RequestError where it is longer than the text limit."""
    return _checked([*tokenizer.encode(text.strip()), END], what)[:-1]


def _checked(ids: list[int], what: str) -> list[int]:
    """The ids of a text with its end; RequestError where they are more than the text limit."""
    if len(ids) > MAX_TOKENS:
        raise RequestError(f"The {what} has {len(ids):,} tokens, </s> included; expected at most {MAX_TOKENS}. Shorten it.")
    return ids


def _reads_source(checkpoint: Checkpoint) -> bool:
    return "encoder" in checkpoint.config.kinds


def sources(checkpoint: Checkpoint, request: Request, padding: int) -> list[list[int]]:
    """The request's source and those of the sentences beside it, padded to one length, and by `padding` more; none for a
    model without an encoder, which goes on with the text instead.

    Raises RequestError where a text is longer than the text limit, and where there is nothing to pad.
    """
    if not _reads_source(checkpoint):
        if request.second:
            raise RequestError(ONE_ALONE)
        if request.pad or request.other_sentences:
            raise RequestError("This model has no encoder: it goes on with one text, which is not padded.")
        return []
    if request.second:
        rows = [_of_two(checkpoint, request)]
    else:
        rows = [_checked(source_ids(checkpoint, text), "sentence") for text in (request.source, *request.other_sentences)]
    return [[*row, *[PAD] * padding] for row in pad(rows).tolist()]


def _of_two(checkpoint: Checkpoint, request: Request) -> list[int]:
    """The ids of a text of two sentences; RequestError, which says how long each is, where it is longer than the limit."""
    ids = source_ids(checkpoint, request.source, request.second)
    if len(ids) > MAX_TOKENS:
        second = len(ids) - len(source_ids(checkpoint, request.source))
        first, longer = len(ids) - second, "first" if len(ids) > 2 * second else "second"
        raise RequestError(
            f"The text of two sentences has {len(ids):,} tokens, </s> included, {first:,} in the first and {second:,} in "
            f"the second; expected at most {MAX_TOKENS}. Shorten the {longer} one."
        )
    return ids


def padding(checkpoint: Checkpoint, request: Request) -> int:
    """How many `<pad>` stand after each row of the batch when all are of one length: those that are asked for; where the
    padding mask is off and the sentence would have none to see, `PAD_WHEN_UNMASKED`."""
    if request.pad or request.intervention.padding_mask or not _reads_source(checkpoint):
        return request.pad
    return 0 if PAD in sources(checkpoint, request, 0)[0] else PAD_WHEN_UNMASKED


def target_of(
    checkpoint: Checkpoint, request: Request, rows: Sequence[Sequence[int]], recorder: Recorder | None = None
) -> list[Tree]:
    """The targets without edits of each source row, at least one: of the first the one given, else the model's own."""
    if request.target is None:
        return decode(checkpoint, request, rows, BASELINE, recorder)
    ids = (*begun(checkpoint, request), *encode(checkpoint.target_tokenizer, request.target, "target"), END)
    if len(ids) > MAX_TOKENS:
        raise RequestError(
            f"Text and target have {len(ids):,} tokens together; expected at most {MAX_TOKENS}. Shorten them."
        )
    given = Tree((Hypothesis(ids, (0.0,) * len(ids)),))  # scored by the pass that follows
    return [given, *(decode(checkpoint, request, rows, BASELINE)[1:] if len(rows) > 1 else ())]


def decode(
    checkpoint: Checkpoint,
    request: Request,
    rows: Sequence[Sequence[int]],
    edit: Intervention,
    recorder: Recorder | None = None,
) -> list[Tree]:
    """What decoding finds for each row, all rows as one batch; edits, branches and `recorder` are the first row's."""
    trees = _search(checkpoint, request, rows, edit, _prefix(checkpoint, request), recorder)
    for branch in request.branches:
        _check_branch(checkpoint, branch, request.decoding.after(len(branch)).limit)
        trees[0] = trees[0].joined(_search(checkpoint, request, rows[:1], edit, branch, recorder)[0])
    return trees


def decode_each(
    checkpoint: Checkpoint, request: Request, source: Sequence[int], edits: Sequence[Intervention]
) -> list[Tree]:
    """What decoding finds for one source row under each intervention, all as one batch."""
    rows = torch.tensor([list(source)] * len(edits), device=checkpoint.device) if _reads_source(checkpoint) else None
    made, decoding = edits_of(checkpoint, source, edits), request.decoding
    prefix = _prefix(checkpoint, request)
    trees = decoding.after(len(prefix)).search(checkpoint.model, rows, made, prefix)
    for branch in request.branches:
        own = decoding.after(len(branch))
        _check_branch(checkpoint, branch, own.limit)
        found = own.search(checkpoint.model, rows, made, branch)
        trees = [a.joined(b) for a, b in zip(trees, found, strict=True)]
    return trees


def shown(tree: Tree, request: Request) -> Hypothesis:
    """The hypothesis that is looked at: the one of the request's path, else the best of the last branch, else the best."""
    if request.path and (found := tree.find(request.path)):
        return found
    if request.branches and request.target is None:
        branch = request.branches[-1]
        return next((h for h in tree if h.ids[: len(branch)] == branch), tree[0])
    return tree[0]


def _search(
    checkpoint: Checkpoint,
    request: Request,
    rows: Sequence[Sequence[int]],
    edit: Intervention,
    prefix: Sequence[int],
    recorder: Recorder | None,
) -> list[Tree]:
    ids = torch.tensor([list(row) for row in rows], device=checkpoint.device) if _reads_source(checkpoint) else None
    edits = edits_of(checkpoint, rows[0] if rows else None, [edit, *[BASELINE] * (len(rows) - 1)])
    return request.decoding.after(len(prefix)).search(checkpoint.model, ids, edits, prefix, recorder)


def begun(checkpoint: Checkpoint, request: Request) -> list[int]:
    """What a model without an encoder goes on with: the text itself. RequestError where it leaves no room in the window."""
    if _reads_source(checkpoint):
        return []
    ids = checkpoint.target_tokenizer.encode(request.source.strip())
    if len(ids) >= MAX_TOKENS:
        raise RequestError(
            f"The text has {len(ids):,} tokens; expected at most {MAX_TOKENS - 1}: the text and what is added share a "
            f"window of {MAX_TOKENS}. Shorten it."
        )
    return ids


def _prefix(checkpoint: Checkpoint, request: Request) -> list[int]:
    ids, limit = encode(checkpoint.target_tokenizer, request.prefix, "prefix"), request.decoding.limit
    ids = [*begun(checkpoint, request), *ids]
    if len(ids) >= limit:
        raise RequestError(f"The prefix has {len(ids)} tokens; expected fewer than the limit of {limit}. Shorten it.")
    return ids


def _check_branch(checkpoint: Checkpoint, branch: Sequence[int], limit: int) -> None:
    size = checkpoint.target_tokenizer.size
    if wrong := [token for token in branch if not END <= token < size]:
        raise RequestError(f"A branch has the token {wrong[0]}; expected {END} to {size - 1}. Remove the branch.")
    if len(branch) >= limit:
        raise RequestError(f"A branch has {len(branch)} tokens; expected fewer than the limit of {limit}. Remove it.")
    if END in branch[:-1]:
        raise RequestError("A branch goes on after </s>; expected it at the end alone. Remove the branch.")


def word_at(tokenizer: Tokenizer, path: Sequence[int], word: str) -> tuple[int, ...]:
    """A path with a typed word after it, piece by piece, as the word is written there: with its space, or after an elision.

    Raises RequestError for an empty word and for one that leaves no room.
    """
    if not word.strip():
        raise RequestError("The word is empty: type one.")
    before, word = tokenizer.decode(path), word.strip()
    space = " " if before and not before.endswith(("'", "’")) else ""
    whole = tokenizer.encode(before + space + word)
    owns = [
        own for own in (list(path), tokenizer.encode(before)) if whole[: len(own)] == own
    ]  # alone, `qu'` is cut otherwise
    added = whole[len(owns[0]) :] if owns else tokenizer.encode(space + word)
    if len(path) + len(added) >= MAX_TOKENS:
        raise RequestError(f"There is no room for {len(added)} more tokens; expected fewer than {MAX_TOKENS} in all.")
    return (*path, *added)
