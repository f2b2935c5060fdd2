"""Each lesson begins unsolved, is solved by what it asks for, and the shipped model is decided about its sentence."""

from urllib.parse import parse_qsl, urlsplit

import numpy as np
import pytest

from viz import page_context, pages
from viz.lessons import lesson_checks
from viz.lessons.four_pictures import FOUR_PICTURES, choose_link
from viz.lessons.lessons import LESSONS, Lesson, Seen, Verdict, find
from viz.state.links import parse

# Solutions of lessons: the changed parameters of the link.
SOLVED = {
    "unsure": {"step": "3"},
    "formula": {"stage": "7"},
    "heads": {"head": "4"},
    "shift": {"layer": "1", "head": "7"},
    "order": {"edits": "source-positions_off"},
    "mask": {"causal": "off"},
    "beam": {"decode": "beam"},
    "ablation": {"edits": "off_cross.1"},
    "cell": {"edits": "block_cross_11-12"},
    "why": {"kind": "decoder", "layer": "3", "head": "4"},
    "scale": {"edits": "scaling-off"},
    "peek": {"target": "Je mange une pomme verte."},
    "fails": {"text": "I saw a capybara."},
}
CLEAR = 0.1  # of probability, by which the chosen token is ahead of the next
NAMES = [lesson.name for lesson in LESSONS if not lesson.trains]


def shown(lesson: Lesson, **changed: str) -> Seen:
    view, faults = parse(dict(parse_qsl(urlsplit(lesson.href).query)) | changed)
    assert faults == ()
    return Seen(lesson.page, page_context.build(view))


def margins(seen: Seen) -> np.ndarray:
    """By how much the written token is ahead of the likeliest other at each step, as probabilities."""
    trace = seen.analysis.trace
    rows = np.exp(trace.log_probs)
    own = rows[np.arange(len(rows)), list(trace.predicted_axis.ids)].copy()
    rows[np.arange(len(rows)), list(trace.predicted_axis.ids)] = 0
    return own - rows.max(1)


def test_every_lesson_is_here():
    assert list(SOLVED) == NAMES and len(set(NAMES)) == len(NAMES)
    every = [lesson.name for lesson in LESSONS]
    assert [find(name).name for name in every] == every == [*dict.fromkeys(every)] and find("nothing") is None
    assert [lesson.trains for lesson in LESSONS] == sorted(lesson.trains for lesson in LESSONS)  # the last ones


@pytest.mark.parametrize("name", NAMES)
def test_a_lesson_is_a_link_begins_unsolved_and_can_be_solved(name):
    lesson = find(name)
    start, end = lesson.verdict(shown(lesson)), lesson.verdict(shown(lesson, **SOLVED[name]))
    assert (start.solved, end.solved) == (False, True), (start, end)
    assert start.said and any(sign.isdigit() for sign in end.said)
    parts = urlsplit(lesson.href)
    assert parts.path.removeprefix("./") in ("", *(page.name for page in pages.PAGES[1:]))
    view, faults = parse(dict(parse_qsl(parts.query)))
    assert (view, faults, view.lesson) == (lesson.view, (), name)


@pytest.mark.parametrize("name", NAMES)
def test_the_model_is_clear_about_a_lesson(name):
    lesson = find(name)
    if name == "peek":  # it is about a translation that is given: what must be clear is who believes it
        wrong, right = (shown(lesson, target=text) for text in (SOLVED[name]["target"], "Elle a acheté une voiture rouge."))
        means = [float(s.analysis.trace.probabilities.mean()) for s in (wrong, right)]
        assert min(means) - lesson_checks.MOST > CLEAR and "Type a wrong translation" in lesson.verdict(right).said
        return
    if name == "beam":  # it is about a choice that is not clear: what must be clear is which translation is likelier
        sums = [float(s.analysis.trace.token_log_probs.sum()) for s in (shown(lesson), shown(lesson, **SOLVED[name]))]
        assert sums[1] - sums[0] > CLEAR
        first = [shown(lesson, **more).analysis.trace.outputs.labels[0] for more in ({}, SOLVED[name])]
        assert first == ["Le", "La"]
        return
    assert margins(shown(lesson)).min() > CLEAR
    if name in ("order", "ablation", "cell"):
        after = shown(lesson, **SOLVED[name])
        assert margins(after)[after.analysis.comparable_steps - 1] > CLEAR
    if name == "unsure":
        least = np.sort(shown(lesson).analysis.trace.probabilities)
        assert least[1] - least[0] > CLEAR


@pytest.mark.parametrize(
    ("name", "link"),
    [
        ("cell", {"edits": "block_cross_11-12~block_cross_11-11"}),
        ("cell", {"edits": "block_cross_11-12", "mode": "given"}),
        ("cell", {"edits": "block_enc_1-2"}),
        ("mask", {"causal": "off", "mode": "again"}),
        ("mask", {"causal": "off", "edits": "scaling-off"}),
        ("order", {"edits": "target-positions_off"}),
        ("ablation", {"edits": "off_cross.2.1"}),
        ("heads", {"kind": "encoder"}),
        ("why", {"kind": "decoder", "layer": "4", "head": "2"}),
        ("why", {"kind": "decoder", "layer": "3", "head": "4", "rival": "7"}),
        ("beam", {"decode": "beam", "width": "1"}),
        ("scale", {"edits": "scaling-off~causal-off"}),
        ("peek", {"edits": "scaling-off", "target": "Oui."}),
        ("unsure", {"target": "Les enfants jouent."}),
    ],
)
def test_another_change_does_not_solve_it(name, link):
    verdict = find(name).verdict(shown(find(name), **link))
    assert not verdict.solved and verdict.said


def test_a_lesson_needs_its_checkpoint():
    lesson = find("unsure")
    assert lesson.verdict(shown(lesson, checkpoint="en-fr-learned", step="5")) == Verdict(
        False, "This lesson needs en-fr. The current checkpoint is en-fr-learned."
    )


def test_lesson_0_follows_one_weight_of_the_text():
    context = shown(find("order")).data
    trace, pictures = context.analysis.trace, FOUR_PICTURES.payload(context, FOUR_PICTURES.result(context))["pictures"]
    site, *cell = choose_link(trace)
    assert f" {trace.patterns[site][tuple(cell)]:.2f} of its weight on “{trace.keys(site)[cell[-1]]}” (" in pictures[1][1]
