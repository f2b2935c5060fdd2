"""The glossary, and markup that explains a term on hover, focus and tap."""

from __future__ import annotations

import html
import re
from functools import lru_cache

# Each term with its meaning in one or two sentences.
GLOSSARY: dict[str, str] = {
    "token": "A piece of text that the model reads or writes at once: a word, a part of a word, or a sign.",
    "·": "The space before a word. It belongs to the token, so “·cat” and “cat” are different tokens.",
    "→": "Before it the token that a step reads, after it the token that the step writes.",
    "<s>": "The start token. The decoder writes its first token after it.",
    "</s>": "The end token. When the model writes it, the translation is complete.",
    "layer": "Attention, then a small network at each token. The output of one layer is the input of the next.",
    "head": "One of several attentions in a layer. Each has its own weights and looks at different tokens.",
    "attention weight": "How much a token takes from another token, from 0 to 1; a row adds up to 1. A high weight "
    "does not prove that the token caused the result: switch it off on What if to test that.",
    "contribution": "The attention weight times the length of the value vector: a token with a high weight may contribute "
    "little. Thumbnails and numbers still show weights.",
    "rollout": "The product of the weights of all layers so far, averaged over heads: the tokens that each position "
    "comes from. Thumbnails and numbers still show single heads.",
    "previous-token head": "A head that puts most of its weight on the token before.",
    "BERT": "A model with an encoder alone. It reads the whole text and fills blanks.",
    "GPT": "A model with a decoder alone. It reads from left to right and writes the next token.",
    "encoder": "The half of the model that reads the source sentence.",
    "decoder": "The half of the model that writes the translation, token by token.",
    "cross-attention": "Attention from the decoder to the source sentence.",
    "mask": "It stops tokens from looking at later tokens (causal mask) or at filling (padding mask).",
    "given target": "Keep this output and score it again: the probability of each token.",
    "decode again": "Translate again, token by token, with the edits.",
    "padding": "Filling at the end of a short sentence, so that the sentences of a batch have equal lengths.",
    "logit": "The score of a token before the softmax turns all scores into probabilities.",
    "log-probability": "The logarithm of a probability: 0 is certain, lower is less likely. The sum over all "
    "tokens is that of the sentence.",
    "nats": "The unit of natural logarithms. One nat less means 2.7 times less likely.",
    "bits": "The unit of logarithms to base 2. One bit more means half as likely.",
    "KL": "How far one probability distribution is from another, in nats. 0 means equal.",
    "score": "How well a query matches a key: their product, divided by √dₖ. The softmax turns scores into weights.",
    "writer": "A part that adds to the residual stream: an embedding, a position, a head, a feed-forward network or a bias.",
    "total variation distance": "How far two rows of weights are apart: half the sum of their differences. 0 means equal, "
    "1 means no overlap.",
    "entropy": "How evenly a row's weights are spread. 0 means one token gets all the weight.",
    "greedy": "Always write the most likely next token.",
    "beam": "Follow several partial translations at once, so that a better one can win later.",
    "residual stream": "The vector of a token on its way through the layers. Each layer adds to it.",
    "direct logit attribution": "A split of a logit over all writers of the residual stream: each part is one writer's "
    "share. Scales of norms and factors such as a tanh stay fixed.",
    "cut": "The change of the lead without this link, in logits. A link with a small weight can change much.",
    "completeness": "The share of the lead that is gone when all shown links are cut together, which is not the sum of "
    "the single cuts. Above 1 the rival leads then.",
    "faithfulness": "The share of the lead that stays when only the shown links are kept: all other cells of their rows are "
    "cut. Above 1 those others together help the rival.",
    "unembedding": "The matrix that turns the last residual stream into logits, one row for each token. A token’s logit is "
    "the product of its row with the stream.",
    "bias": "Numbers that a layer adds to any input. Here the biases of attention and norms form one part; those of a "
    "feed-forward network belong to its part.",
    "embedding": "The vector of a token before the first layer.",
    "ablation": "Switching a part off to see what it does.",
    "baseline": "The same sentence without edits, for comparison.",
    "checkpoint": "A saved trained model: its weights and its vocabulary.",
    "BLEU": "A score from 0 to 100: how closely a translation matches a human translation.",
}


def term(name: str, text: str | None = None) -> str:
    """Returns markup of a term with its meaning, displayed as `text`. Raises KeyError for an unknown term."""
    return explained(name if text is None else text, GLOSSARY[name])


def explained(text: str, meaning: str) -> str:
    """Returns markup of a text with its explanation in a tooltip."""
    meaning, label = html.escape(meaning), html.escape(text)
    return f'<dfn class="lab-term" tabindex="0" data-tip="{meaning}" aria-description="{meaning}">{label}</dfn>'


@lru_cache(1024)
def marked(text: str, *names: str) -> str:
    """Returns a text as escaped markup that explains the first occurrence of each term; see `split`."""
    return "".join(term(name, part) if name else html.escape(part) for part, name in split(text, *names))


def split(text: str, *names: str) -> list[tuple[str, str]]:
    """Returns the parts of a text, each with its term or an empty text: the first occurrence of each, also with a plural s.

    Raises KeyError for an unknown term.
    """
    if unknown := [name for name in names if name not in GLOSSARY]:
        raise KeyError(unknown[0])
    matches: dict[str, re.Match[str]] = {}
    for name in sorted(names, key=len, reverse=True):  # longer terms win over terms within them
        for match in re.finditer(rf"(?<!\w){re.escape(name)}s?(?!\w)", text, re.IGNORECASE):
            if all(match.end() <= other.start() or other.end() <= match.start() for other in matches.values()):
                matches[name] = match
                break
    parts, end = [], 0
    for name, match in sorted(matches.items(), key=lambda pair: pair[1].start()):
        parts += [(text[end : match.start()], ""), (match[0], name)]
        end = match.end()
    return [*parts, (text[end:], "")]


def first_space(markup: str) -> str:
    """Returns markup in which the dot of the first token with a space is explained."""
    return re.sub(r'(<span class="lab-mono[^"]*">)·', lambda match: match[1] + term("·"), markup, count=1)


def meanings(*names: str) -> dict[str, str]:
    """Returns the meanings of terms, for a component's script. Raises KeyError for an unknown term."""
    return {name: GLOSSARY[name] for name in names}
