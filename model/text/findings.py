"""Published claims about heads and what one checkpoint gives for each, which it stores in `findings.json`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from ..io.files import is_count, is_whole_number, short_repr

SCHEMA = 1
MAX_CLAIMS, MAX_TEXT = 40, 600
TEXTS = ("source", "claim", "result", "bar", "command")


@dataclass(frozen=True)
class ClaimResult:
    """A published claim: its source, what the model gives with numbers and intervals, and the bar that decides."""

    source: str
    claim: str
    result: str
    bar: str  # what counts as reproduced
    is_reproduced: bool
    command: str


@dataclass(frozen=True)
class Findings:
    """All claims that were tested on a checkpoint, over `sentences` sentences of the data with this SHA-256 hash."""

    data: str
    sentences: int
    findings: tuple[ClaimResult, ...]

    def lines(self) -> list[str]:
        """Returns two lines for each claim."""
        words = {True: "reproduced", False: "not reproduced"}
        return [f"{each.source}: {each.claim}\n  {words[each.is_reproduced]}: {each.result}" for each in self.findings]

    def to_dict(self) -> dict[str, Any]:
        """Returns the values for JSON."""
        return {"schema": SCHEMA} | asdict(self) | {"findings": [asdict(each) for each in self.findings]}

    @classmethod
    def from_dict(cls, values: Any) -> Findings:
        """Reads the values of a JSON file. Raises ValueError that names the key of the fault."""
        schema = values.get("schema") if isinstance(values, Mapping) else None
        if not is_whole_number(schema) or schema != SCHEMA:
            raise ValueError(f"'schema' is {short_repr(schema)}; expected {SCHEMA}")
        if not isinstance(values.get("data"), str):
            raise ValueError(f"'data' is {short_repr(values.get('data'))}; expected the SHA-256 of the sentences' file")
        if not is_count(values.get("sentences")) or not values["sentences"]:
            raise ValueError(f"'sentences' is {short_repr(values.get('sentences'))}; expected a whole number")
        listed = values.get("findings")
        if not isinstance(listed, list) or not 0 < len(listed) <= MAX_CLAIMS:
            raise ValueError(f"'findings' is {short_repr(listed)}; expected a list of at most {MAX_CLAIMS} claims")
        return cls(values["data"], values["sentences"], tuple(map(_finding, listed)))


def _finding(values: Any) -> ClaimResult:
    names = tuple(ClaimResult.__dataclass_fields__)
    if not isinstance(values, Mapping) or set(values) != set(names) or not isinstance(values["is_reproduced"], bool):
        raise ValueError(f"'findings' has {short_repr(values)}; expected {', '.join(names)}")
    for name in TEXTS:
        if not isinstance(values[name], str) or len(values[name]) > MAX_TEXT or not values[name].isprintable():
            raise ValueError(f"'findings': {name!r} is {short_repr(values[name])}; expected a text on one line")
    return ClaimResult(**values)
