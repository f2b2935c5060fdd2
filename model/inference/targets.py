"""The ids of a request: its padded sources, and the tree of targets from decoding or from the request."""

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
from ..text.tokenizer import Tokenizer
from .request import PAD_WHEN_UNMASKED, CheckpointName, Request, RequestError
from .source_reading import ONE_SENTENCE_MESSAGE, build_edits, source_ids


def fill_checkpoint(checkpoint: Checkpoint, request: Request) -> Request:
    """Returns the request with the name and the folder of the checkpoint that answers it.

    A request may name the loaded checkpoint by its name or by its folder, or name none. Raises RequestError where it
    names another one.
    """
    requested = request.checkpoint
    is_chosen = not isinstance(requested, CheckpointName) or requested.is_chosen
    if is_chosen and requested != checkpoint.name and not _is_folder_of(checkpoint, requested):
        raise RequestError(
            f"The request names the checkpoint {requested[:200]!r}, and {checkpoint.name!r} is loaded; expected the same "
            f"one. Load the one that the request names, or leave its name out."
        )
    text = checkpoint.source_tokenizer.decode(_check_ids(checkpoint.source_tokenizer, request.source_ids, "source"))
    name = CheckpointName(checkpoint.name, checkpoint.folder)
    return dataclasses.replace(request, checkpoint=name, source=text if request.source_ids else request.source)


def _is_folder_of(checkpoint: Checkpoint, name: str) -> bool:
    """True where a name or a path is of the folder of a loaded checkpoint."""
    try:
        return checkpoint.folder is not None and checkpoints.find_folder(name).resolve() == checkpoint.folder
    except ValueError:  # there is no such checkpoint
        return False


def encode(tokenizer: Tokenizer, text: str, name: str, limit: int = MAX_TOKENS) -> list[int]:
    """Returns the ids of a text without `</s>`. Raises RequestError where it exceeds the limit."""
    return _check_length([*tokenizer.encode(text.strip()), END], name, limit)[:-1]


def _check_length(ids: list[int], name: str, limit: int) -> list[int]:
    """Returns the ids. Raises RequestError where they exceed the limit."""
    if len(ids) > limit:
        raise RequestError(f"The {name} has {len(ids):,} tokens, </s> included; expected at most {limit:,}. Shorten it.")
    return ids


def _check_ids(tokenizer: Tokenizer, ids: Sequence[int], name: str) -> Sequence[int]:
    """Returns the ids. Raises RequestError where the vocabulary lacks one."""
    if invalid := [token for token in ids if not 0 <= token < tokenizer.size]:
        raise RequestError(f"The {name} has the id {invalid[0]}; expected 0 to {tokenizer.size - 1}.")
    return ids


def token_limit(checkpoint: Checkpoint, request: Request) -> int:
    """Returns the largest number of tokens of the source and of the target: that of the request, or of the positions."""
    return checkpoint.config.clamp_length(request.max_tokens)


def _has_encoder(checkpoint: Checkpoint) -> bool:
    return "encoder" in checkpoint.config.kinds


def build_source_rows(checkpoint: Checkpoint, request: Request, padding: int) -> list[list[int]]:
    """Returns the ids of the source and of the other sentences, padded to one length and by `padding` more.

    The list is empty for a model without an encoder, which continues the text.

    Raises RequestError where a text exceeds the text limit, and for padding without an encoder.
    """
    if not _has_encoder(checkpoint):
        if request.second_sentence:
            raise RequestError(ONE_SENTENCE_MESSAGE)
        if request.extra_padding or request.other_sentences:
            raise RequestError("This model has no encoder. It continues one text, which is not padded.")
        return []
    limit = token_limit(checkpoint, request)
    if request.second_sentence:
        rows = [_pair_ids(checkpoint, request)]
    elif request.source_ids:
        rows = [_check_length([*request.source_ids], "source", limit)]
    elif not request.source.strip():
        raise RequestError("The sentence is empty: type one.")
    else:
        texts = (request.source, *request.other_sentences)
        rows = [_check_length(source_ids(checkpoint, text), "sentence", limit) for text in texts]
    longest = max(map(len, rows)) + padding
    return [[*row, *[PAD] * (longest - len(row))] for row in rows]


def _pair_ids(checkpoint: Checkpoint, request: Request) -> list[int]:
    """Returns the ids of two sentences. Raises RequestError with both lengths where they exceed the text limit."""
    ids, limit = source_ids(checkpoint, request.source, request.second_sentence), token_limit(checkpoint, request)
    if len(ids) > limit:
        second = len(ids) - len(source_ids(checkpoint, request.source))
        first, longer = len(ids) - second, "first" if len(ids) > 2 * second else "second"
        raise RequestError(
            f"The text of two sentences has {len(ids):,} tokens, </s> included, {first:,} in the first and {second:,} in "
            f"the second; expected at most {limit:,}. Shorten the {longer} one."
        )
    return ids


def count_padding(checkpoint: Checkpoint, request: Request) -> int:
    """Returns the number of `<pad>` tokens after each row of an even batch.

    It is the requested number, or `PAD_WHEN_UNMASKED` where the padding mask is off and the sentence has no padding.
    """
    if request.extra_padding or request.intervention.padding_mask or not _has_encoder(checkpoint):
        return request.extra_padding
    return 0 if PAD in build_source_rows(checkpoint, request, 0)[0] else PAD_WHEN_UNMASKED


def build_target_trees(
    checkpoint: Checkpoint, request: Request, rows: Sequence[Sequence[int]], recorder: Recorder | None = None
) -> list[Tree]:
    """Returns the trees without edits of each source row; the first is that of the given target, if any."""
    if not request.has_target:
        return decode(checkpoint, request, rows, BASELINE, recorder)
    tokenizer, limit = checkpoint.target_tokenizer, token_limit(checkpoint, request)
    target = request.target_ids or (*encode(tokenizer, request.target, "target", limit), END)
    ids = (*prompt_ids(checkpoint, request), *_check_ids(tokenizer, target, "target"))
    if len(ids) > limit:
        raise RequestError(f"Text and target have {len(ids):,} tokens together; expected at most {limit:,}. Shorten them.")
    target_tree = Tree((Hypothesis(ids, (0.0,) * len(ids)),))  # scored by the pass that follows
    return [target_tree, *(decode(checkpoint, request, rows, BASELINE)[1:] if len(rows) > 1 else ())]


def decode(
    checkpoint: Checkpoint,
    request: Request,
    rows: Sequence[Sequence[int]],
    edit: Intervention,
    recorder: Recorder | None = None,
) -> list[Tree]:
    """Returns the decoded tree of each row of a batch; edits, branches and `recorder` apply to the first row."""
    trees = _search(checkpoint, request, rows, edit, _prefix_ids(checkpoint, request), recorder)
    for branch in request.branches:
        _check_branch(checkpoint, branch, request.decoding.with_total_limit(len(branch)).max_total_tokens)
        trees[0] = trees[0].merge(_search(checkpoint, request, rows[:1], edit, branch, recorder)[0])
    return trees


def decode_each_edit(
    checkpoint: Checkpoint, request: Request, source: Sequence[int], edits: Sequence[Intervention]
) -> list[Tree]:
    """Returns the decoded tree of one source row under each intervention, computed as one batch."""
    rows = torch.tensor([list(source)] * len(edits), device=checkpoint.device) if _has_encoder(checkpoint) else None
    batch_edits, decoding = build_edits(checkpoint, source, edits), request.decoding
    prefix = _prefix_ids(checkpoint, request)
    trees = decoding.with_total_limit(len(prefix)).search(checkpoint.model, rows, batch_edits, prefix)
    for branch in request.branches:
        branch_decoding = decoding.with_total_limit(len(branch))
        _check_branch(checkpoint, branch, branch_decoding.max_total_tokens)
        branch_trees = branch_decoding.search(checkpoint.model, rows, batch_edits, branch)
        trees = [a.merge(b) for a, b in zip(trees, branch_trees, strict=True)]
    return trees


def select_hypothesis(tree: Tree, request: Request) -> Hypothesis:
    """Returns the hypothesis of the requested path, else the best of the last branch, else the best."""
    if request.path and (hypothesis := tree.find(request.path)):
        return hypothesis
    if request.branches and not request.has_target:
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
    ids = torch.tensor([list(row) for row in rows], device=checkpoint.device) if _has_encoder(checkpoint) else None
    edits = build_edits(checkpoint, rows[0] if rows else None, [edit, *[BASELINE] * (len(rows) - 1)])
    return request.decoding.with_total_limit(len(prefix)).search(checkpoint.model, ids, edits, prefix, recorder)


def prompt_ids(checkpoint: Checkpoint, request: Request) -> list[int]:
    """Returns the prompt ids of a model without an encoder; empty for others.

    Raises RequestError where the prompt leaves no room in the window.
    """
    if _has_encoder(checkpoint):
        return []
    ids = [*request.source_ids] or checkpoint.target_tokenizer.encode(request.source.strip())
    limit = token_limit(checkpoint, request)
    if len(ids) >= limit:
        raise RequestError(
            f"The text has {len(ids):,} tokens; expected at most {limit - 1:,}: the text and what is added share a "
            f"window of {limit:,}. Shorten it."
        )
    return ids


def _prefix_ids(checkpoint: Checkpoint, request: Request) -> list[int]:
    ids = encode(checkpoint.target_tokenizer, request.prefix, "prefix", token_limit(checkpoint, request))
    limit = request.decoding.max_total_tokens
    ids = [*prompt_ids(checkpoint, request), *ids]
    if len(ids) >= limit:
        raise RequestError(f"The prefix has {len(ids)} tokens; expected fewer than the limit of {limit}. Shorten it.")
    return ids


def _check_branch(checkpoint: Checkpoint, branch: Sequence[int], limit: int) -> None:
    size = checkpoint.target_tokenizer.size
    if invalid_tokens := [token for token in branch if not END <= token < size]:
        raise RequestError(f"A branch has the token {invalid_tokens[0]}; expected {END} to {size - 1}. Remove the branch.")
    if len(branch) >= limit:
        raise RequestError(f"A branch has {len(branch)} tokens; expected fewer than the limit of {limit}. Remove it.")
    if END in branch[:-1]:
        raise RequestError("A branch continues after </s>; expected </s> only at its end. Remove the branch.")


def append_word(tokenizer: Tokenizer, path: Sequence[int], word: str) -> tuple[int, ...]:
    """Returns a path followed by the tokens of a typed word, with a space before it except after an elision.

    Raises RequestError for an empty word and for one that leaves no room.
    """
    if not word.strip():
        raise RequestError("The word is empty: type one.")
    before, word = tokenizer.decode(path), word.strip()
    space = " " if before and not before.endswith(("'", "’")) else ""
    ids = tokenizer.encode(before + space + word)
    matching_prefixes = [
        own for own in (list(path), tokenizer.encode(before)) if ids[: len(own)] == own
    ]  # `qu'` alone has other tokens
    word_ids = ids[len(matching_prefixes[0]) :] if matching_prefixes else tokenizer.encode(space + word)
    if len(path) + len(word_ids) >= MAX_TOKENS:
        raise RequestError(f"There is no room for {len(word_ids)} more tokens; expected fewer than {MAX_TOKENS} in all.")
    return (*path, *word_ids)
