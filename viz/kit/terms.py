"""What the lab's words mean, each told once; and how a word in our own markup tells it, on hover, focus and tap."""

from __future__ import annotations

import html
import re
from functools import cache, lru_cache

# A term as it is looked up, and what it means in a sentence or two.
GLOSSARY: dict[str, str] = {
    "token": "A piece of text that the model reads or writes at once: a word, a part of one, or a sign.",
    "·": "The space before a word. It belongs to the token, so “·cat” and “cat” are two different ones.",
    "<s>": "The token that stands before the first one that is written. The decoder starts from it.",
    "</s>": "The token that ends a sentence. When the model writes it, the translation is done.",
    "layer": "One round of attention, then of a small network at each token. What one layer puts out, the next takes in.",
    "head": "One of several attentions that work side by side in a layer, each with its own idea of what to look at.",
    "attention weight": "How much of one token another one takes in, from 0 to 1. The weights of a row add up to 1.",
    "contribution": "The attention weight times the length of the value that it brings in: a token may get much weight and "
    "bring little. Thumbnails and numbers stay those of the weights.",
    "rollout": "The weights of all layers up to here multiplied, all heads together: which tokens each one comes from. "
    "Thumbnails and numbers stay those of the weights of single heads.",
    "encoder": "The half of the model that reads the whole source sentence.",
    "decoder": "The half of the model that writes the translation, one token after the other.",
    "cross-attention": "Attention from the decoder to the source sentence: what is read while a token is written.",
    "mask": "What forbids a token to look at some others: at later ones (causal), or at mere filling (padding).",
    "given target": "The translation stays. The model reads it in one pass, and says how likely it finds each token.",
    "decode again": "The translation is made anew under the switches, token by token.",
    "padding": "Filling at the end of a short sentence, so that several sentences fit into one table.",
    "logit": "The score that a token gets before all scores are turned into probabilities that add up to 1.",
    "log-probability": "The logarithm of a probability: 0 is certain, and the lower the less likely. Those of all tokens "
    "add up to that of the sentence.",
    "nats": "The unit of natural logarithms. One nat less means 2.7 times less likely.",
    "bits": "The unit of logarithms to base 2. One bit more means half as likely.",
    "KL": "How far one set of probabilities is from another, in nats: 0 where they are the same.",
    "score": "How well a query fits a key: their product, divided by √dₖ. The softmax makes weights of the scores.",
    "writer": "Whatever adds to the residual stream: an embedding, its position, a head, a feed-forward network, or a bias.",
    "total variation distance": "How far two rows of weights are apart: half the sum of what they differ by. 0 where they "
    "are the same, 1 where they have nothing in common.",
    "entropy": "How evenly weights are shared out: 0 where one token gets everything.",
    "greedy": "Always writing the likeliest next token, without looking back.",
    "beam": "Several beginnings of a translation that are followed at the same time, so that a better one can win later.",
    "residual stream": "The row of numbers that stands for a token on its way through the layers. Each layer adds to it.",
    "direct logit attribution": "Splitting a logit over everything that wrote into the residual stream: each part is what "
    "that writer alone puts into the logit. Scales of norms, and factors such as a tanh, are held as they were.",
    "unembedding": "What turns the last residual stream into logits: a row of numbers for each token. A token’s logit is "
    "the product of its row with the stream.",
    "bias": "Numbers that a layer adds whatever it reads. Those of all attention outputs and norms are one part here; those "
    "of a feed-forward network belong to its own part.",
    "embedding": "The row of numbers that stands for a token before any layer has seen it.",
    "ablation": "Switching a part off, to find out what it was needed for.",
    "baseline": "The same sentence without any edit, for comparison.",
    "checkpoint": "A trained model as it was saved: all of its numbers, and its vocabulary.",
    "BLEU": "A score from 0 to 100: how much of a translation agrees with one that a person made.",
}


def term(name: str, shown: str | None = None) -> str:
    """Markup of a term, written as in `shown`, that tells its meaning.

    Raises KeyError for one that is not in the glossary.
    """
    meaning = html.escape(GLOSSARY[name])
    text = html.escape(name if shown is None else shown)
    return f'<dfn class="lab-term" tabindex="0" data-tip="{meaning}" aria-description="{meaning}">{text}</dfn>'


@lru_cache(1024)
def marked(text: str, *names: str) -> str:
    """A plain text as markup in which the first occurrence of each of some terms, in the singular or with an s, tells its
    meaning; all of the text is escaped.

    Raises KeyError for a term that is not in the glossary.
    """
    if unknown := [name for name in names if name not in GLOSSARY]:
        raise KeyError(unknown[0])
    found: dict[str, re.Match[str]] = {}
    for name in sorted(names, key=len, reverse=True):  # a term within a longer one is no term of its own
        for match in re.finditer(rf"(?<!\w){re.escape(name)}s?(?!\w)", text, re.IGNORECASE):
            if all(match.end() <= other.start() or other.end() <= match.start() for other in found.values()):
                found[name] = match
                break
    parts, end = [], 0
    for name, match in sorted(found.items(), key=lambda pair: pair[1].start()):
        parts += [html.escape(text[end : match.start()]), term(name, match[0])]
        end = match.end()
    return "".join([*parts, html.escape(text[end:])])


def first_space(markup: str) -> str:
    """Our own markup in which the first token with a space before it tells what its dot is."""
    return re.sub(r'(<span class="lab-mono[^"]*">)·', lambda match: match[1] + term("·"), markup, count=1)


def meanings(*names: str) -> dict[str, str]:
    """What some terms mean, for a component's script. Raises KeyError for one that is not in the glossary."""
    return {name: GLOSSARY[name] for name in names}


@cache
def listed() -> str:
    """All terms with their meanings, as markup."""
    rows = "".join(f"<dt>{html.escape(name)}</dt><dd>{html.escape(meaning)}</dd>" for name, meaning in GLOSSARY.items())
    return f'<dl class="lab-terms" tabindex="0" role="group" aria-label="Terms">{rows}</dl>'
