"""Heads that carry the route of a right token against a wrong one, measured over many sentences (`routes.json`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from ..config import FAMILIES
from ..io.files import is_count, is_number, is_whole_number, short_repr
from ..io.numbers import head_name

SCHEMA = 1
CARRIES = 0.2  # share of sentences from which a head has the name of what it carries
ROLE = "carries the choice of a pronoun"  # name of the role that these heads have
LISTED = 10  # heads that are printed
COUNTS = ("sentences", "left_out", "linked", "seed")


@dataclass(frozen=True)
class RouteHead:
    """A head (from 0) with the share of the sentences whose strongest link it carries, and its 95% interval."""

    site: str  # a kind of attention
    layer: int
    head: int
    hop: int  # of most of these links: 1 from the row that predicts the token, 2 from an earlier position
    share: float
    low: float
    high: float

    @property
    def name(self) -> str:
        return head_name(self.site, self.layer, self.head)

    def describe(self, sentences: int) -> str:
        """Returns `decoder 3.4 carries a link of hop 1 in 71% of 200 sentences (66 to 76)`."""
        share, low, high = (f"{100 * value:.0f}" for value in (self.share, self.low, self.high))
        return f"{self.name} carries a link of hop {self.hop} in {share}% of {sentences:,} sentences ({low} to {high})"


@dataclass(frozen=True)
class RouteHeads:
    """The heads with their shares, the largest first.

    `left_out` sentences have no preference for the right token. `linked` of the `sentences` have a link that supports it.
    `earlier` has the same for earlier steps of the training, in their order, each with its `step`.
    """

    sentences: int
    left_out: int
    linked: int
    seed: int
    data: str  # SHA-256 of the file
    heads: tuple[RouteHead, ...]
    step: int | None = None  # of the training, if it is known
    earlier: tuple[RouteHeads, ...] = ()

    def find(self, site: str, layer: int, head: int) -> RouteHead | None:
        """Returns a head (from 0); None if it carried no link."""
        return next((each for each in self.heads if (each.site, each.layer, each.head) == (site, layer, head)), None)

    def lines(self, name: str) -> list[str]:
        """Returns the counts of sentences of a checkpoint, and a line for each of the first heads."""
        head = f"{name}: {self.sentences:,} sentences, {self.linked:,} of them with a link that supports the right token"
        more = f"{self.left_out:,} sentences left out: no clear preference for the right token"
        rows = [head, more, *(each.describe(self.sentences) for each in self.heads[:LISTED])]
        return [*rows, *(line for each in self.earlier for line in each.lines(f"{name}, step {each.step:,}"))]

    def to_dict(self) -> dict[str, Any]:
        """Returns the values for JSON."""
        heads = [{n: round(v, 4) if isinstance(v, float) else v for n, v in asdict(head).items()} for head in self.heads]
        values = {"schema": SCHEMA} | {name: getattr(self, name) for name in (*COUNTS, "data")} | {"heads": heads}
        if self.step is not None:
            values["step"] = self.step
        return values | ({"earlier": [each.to_dict() for each in self.earlier]} if self.earlier else {})

    @classmethod
    def from_dict(cls, values: Any) -> RouteHeads:
        """Reads the values of a JSON file; ValueError that names the key of the fault."""
        schema = values.get("schema") if isinstance(values, Mapping) else None
        if not is_whole_number(schema) or schema != SCHEMA:
            raise ValueError(f"'schema' is {short_repr(schema)}; expected {SCHEMA}")
        for name in COUNTS:
            if not is_count(values.get(name)) or (name == "sentences" and not values[name]):
                raise ValueError(f"{name!r} is {short_repr(values.get(name))}; expected a whole number")
        if not isinstance(values.get("data"), str):
            raise ValueError(f"'data' is {short_repr(values.get('data'))}; expected the SHA-256 of the sentences' file")
        if not isinstance(values.get("heads"), list):
            raise ValueError(f"'heads' is {short_repr(values.get('heads'))}; expected a list of heads")
        step, earlier = values.get("step"), values.get("earlier", [])
        if step is not None and not is_count(step):
            raise ValueError(f"'step' is {short_repr(step)}; expected a whole number")
        if not isinstance(earlier, list) or not all(
            isinstance(each, Mapping) and is_count(each.get("step")) for each in earlier
        ):
            raise ValueError(f"'earlier' is {short_repr(earlier)}; expected a list of the same values, each with its step")
        return cls(
            **{name: values[name] for name in COUNTS},
            data=values["data"],
            heads=tuple(map(_head, values["heads"])),
            step=step,
            earlier=tuple(map(cls.from_dict, earlier)),
        )


def _head(values: Any) -> RouteHead:
    names = tuple(RouteHead.__dataclass_fields__)
    if not isinstance(values, Mapping) or set(values) != set(names):
        raise ValueError(f"'heads' has {short_repr(values)}; expected {', '.join(names)}")
    is_place = values["site"] in FAMILIES["encoder-decoder"] and is_count(values["layer"]) and is_count(values["head"])
    if not is_place or values["hop"] not in (1, 2):
        raise ValueError(f"'heads' has {short_repr(values)}; expected a site, a layer and a head from 0, and hop 1 or 2")
    if not all(is_number(values[name], 0, 1) for name in ("share", "low", "high")):
        raise ValueError(f"'heads' has {short_repr(values)}; expected share, low and high from 0 to 1")
    return RouteHead(**values)
