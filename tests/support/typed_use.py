"""Code of a user, for the type checker alone: `make types` reports a name that lost its type. Nothing runs it."""

from __future__ import annotations

from pathlib import Path
from typing import assert_type

from model import (
    Analysis,
    Checkpoint,
    CheckResult,
    Decoding,
    HeadEffect,
    Intervention,
    LeakReport,
    Request,
    Site,
    SweepResult,
    analyse,
    check,
    head_effects,
    leak_test,
    load,
    save_html,
    sweep,
)


def use_public_names() -> None:
    checkpoint = assert_type(load("en-fr"), Checkpoint)
    edit = assert_type(Intervention().off(Site("cross", 1), head=7), Intervention)
    request = Request("A fox.", decoding=Decoding("beam", width=4), intervention=edit)
    analysis = assert_type(analyse(checkpoint, request), Analysis)
    assert_type(analysis.translation, str)
    assert_type(head_effects(checkpoint, request), tuple[HeadEffect, ...])
    assert_type(sweep(checkpoint, ["A fox."], [edit]), SweepResult)
    assert_type(leak_test(checkpoint, request), LeakReport)
    assert_type(check(checkpoint, "no padding leaks in every sentence", ["A fox."]), tuple[CheckResult, ...])
    assert_type(save_html([], ["A"], "a.html", source_tokens=["B"], head=("cross", 0, 1)), Path)
    save_html([], ["A"], "a.html", source_token=["B"])  # type: ignore[call-arg]
    analyse(checkpoint, "A fox.")  # type: ignore[arg-type]  # a text is no request, and the checker says so
    Site("middle", 1)  # type: ignore[arg-type]
