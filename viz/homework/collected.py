"""Results of a class: the files of the students, each check computed again. Nothing is stored beyond the visit."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterator, Sequence
from typing import Any

import streamlit as st

from viz.homework import class_files, class_texts
from viz.homework.assignment import Assignment, AssignmentError, file_of, find_assignment, ready_assignments
from viz.homework.class_files import DroppedFile, SortedFiles
from viz.homework.class_summary import StudentResult, confidence_counts, pair_summaries, results_table, task_summaries
from viz.homework.judged_results import JudgedResult, checkpoints_of, judge_result
from viz.homework.results import MAX_RESULT, Result, checkpoint_digest
from viz.kit import site_texts
from viz.kit.panel import Panel, Picture, where
from viz.page_context import PageContext
from viz.save.saved_files import stem_of
from viz.state.session_data import CollectedData, data, store_from_event
from viz.state.work_queue import work_slot

HEADING = "Results of a class"
LABEL = "Result files of your students, and the assignment's own file unless it is open here"
NOTE = "Each check is computed again. The files stay in this visit, and nothing is stored."
NO_FILES = "Leave lecture mode and drop the result files on this page. The screen then shows them without names."
NO_ASSIGNMENT = "Open the assignment first, or add its own JSON file. Then these results are checked: {}."


def _draw(context: PageContext, result: Any) -> None:
    """Draws the results of a class; while a student solves an assignment they are folded."""
    view = context.view
    if view.assignment and not (view.author or data().homework.is_preview or data().collected.files):
        with st.expander(f"{HEADING} (for lecturers)"):
            _draw_class(context)
        return
    site_texts.write(f'<h2 class="lab-label lab-rule">{HEADING}</h2>')
    _draw_class(context)


def _draw_class(context: PageContext) -> None:
    """Draws the upload, and the results of the class as far as they are judged."""
    own, view = data().collected, context.view
    _draw_upload(own)
    files = list(own.files.values())
    if not files:
        return
    assignment = _choose(own, files, view.assignment)
    if assignment is None:
        results = class_files.results_in(files)
        faults = [each.fault for each in files if each.fault]
        if faults:
            site_texts.write(class_texts.sentences(_count_unused(faults), faults))
        if results:
            site_texts.note(
                NO_ASSIGNMENT.format(", ".join(file.name for file, _ in results[:3]) + " …" * (len(results) > 3))
            )
        _draw_removal()
        return
    by_use = class_files.sort_files(files, assignment)
    students, failed = _judge(own, by_use.results, assignment, view.device)
    _draw_results(assignment, students, by_use, failed)


def _draw_upload(own: CollectedData) -> None:
    """Draws the upload. Its files come on top of those that were dropped before the visitor left this page."""
    key = f"collect files {own.tried}"
    if key not in st.session_state:
        own.earlier = own.files

    def take() -> None:
        dropped = [(each.name, each.getvalue()) for each in st.session_state.get(key) or ()]
        store_from_event(own, files=class_files.add_files(own.earlier, dropped), is_stopped=False)

    st.file_uploader(LABEL, accept_multiple_files=True, max_upload_size=MAX_RESULT >> 20, key=key, on_change=take)
    site_texts.note(NOTE)


def _choose(own: CollectedData, files: Sequence[DroppedFile], in_link: str) -> Assignment | None:
    """Returns the assignment whose results are shown. Draws a choice if there are several."""
    if fault := find_assignment(in_link)[1]:
        site_texts.note(fault, warn=True)
    offered = _offered(own, files, in_link)
    if len(offered) > 1:
        titles = {each.id: each.title for each in sorted(offered, key=lambda each: each.title)}
        key = f"collected assignment {own.tried}"

        def store() -> None:
            chosen = st.session_state[key]
            store_from_event(own, chosen=chosen if chosen in titles else "", is_stopped=False)

        index = list(titles).index(offered[0].id)
        st.selectbox("Assignment", list(titles), index, format_func=titles.get, key=key, on_change=store)
    return offered[0] if offered else None


def _offered(own: CollectedData, files: Sequence[DroppedFile], in_link: str) -> list[Assignment]:
    """Returns the assignments to choose from, the chosen one first."""
    offered = class_files.offered_assignments(files, find_assignment(in_link)[0], _ready())
    return sorted(offered, key=lambda each: each.id != own.chosen)


def _ready() -> list[Assignment]:
    try:
        return list(ready_assignments().values())
    except (OSError, AssignmentError):  # an incomplete installation: the dropped file of an assignment still works
        return []


def _judge(
    own: CollectedData, files: Sequence[DroppedFile], assignment: Assignment, device: str
) -> tuple[list[StudentResult], list[str]]:
    """Returns the judged results, and a sentence for each file that could not be judged.

    The session keeps what is judged: a run that ends early, or another one, computes only the rest.
    """
    stamp = _stamp(assignment, device)
    pending = [each for each in files if f"{stamp} {each.digest}" not in own.judged]
    if pending and not own.is_stopped:
        place = st.empty()
        with place.container(key="collected_progress", horizontal=True, vertical_alignment="center", gap="small"):
            bar = st.empty()
            st.button("Stop", key="stop collecting", on_click=store_from_event, args=(own,), kwargs={"is_stopped": True})
        for number, file in enumerate(pending, len(files) - len(pending)):
            bar.progress(number / len(files), f"{number} of {len(files)} files are checked.")
            with work_slot(is_long=True):
                own.judged[f"{stamp} {file.digest}"] = _judge_file(file, assignment, device)
        place.empty()
    if pending and own.is_stopped:
        with st.container(key="collected_progress", horizontal=True, vertical_alignment="center", gap="small"):
            site_texts.label(f"Stopped: {len(files) - len(pending)} of {len(files)} files are checked.")
            st.button("Go on", key="collect on", on_click=store_from_event, args=(own,), kwargs={"is_stopped": False})
    return _known(own, files, stamp)


def _known(own: CollectedData, files: Sequence[DroppedFile], stamp: str) -> tuple[list[StudentResult], list[str]]:
    """Returns what `_judge` returns, as far as it is judged."""
    judged = [(each.name, own.judged.get(f"{stamp} {each.digest}")) for each in files]
    students = [StudentResult(name, each) for name, each in judged if isinstance(each, JudgedResult)]
    return students, [each for _, each in judged if isinstance(each, str)]


def _judge_file(file: DroppedFile, assignment: Assignment, device: str) -> JudgedResult | str:
    """Returns a judged result, or why it has none: one bad file must not end the page."""
    assert isinstance(file.content, Result)
    try:
        return judge_result(assignment, file.content, device)
    except Exception as fault:
        logging.getLogger(__name__).warning("A result could not be judged", exc_info=True)
        return f"{file.name} could not be checked ({type(fault).__name__})."


def _stamp(assignment: Assignment, device: str) -> str:
    """Identifies what a judgement depends on: the tasks, the device and the weights."""
    names = sorted({name for task in assignment.tasks for name in checkpoints_of(task)})
    digests = "".join(map(checkpoint_digest, names))
    return hashlib.sha256(file_of(assignment) + f"{device}{digests}".encode()).hexdigest()


def _draw_results(assignment: Assignment, students: list[StudentResult], files: SortedFiles, failed: Sequence[str]) -> None:
    unused = (*files.unused, *failed)
    notes = class_texts.sentences(_count_unused(unused), unused)
    missing = "".join(site_texts.note_markup(each, warn=True) for each in class_files.missing_sentences(assignment))
    with st.container(key="collected_head", horizontal=True, vertical_alignment="center", gap="small"):
        site_texts.label(f"“{assignment.title}”")
        if students:
            st.download_button(
                "Save as CSV",
                lambda: results_table(assignment, students).csv(),
                f"{stem_of((assignment.title,))}-results.csv",
                "text/csv",
                key="save results",
                on_click="ignore",
            )
        _draw_removal()
    if students:
        site_texts.write(class_texts.joined(_parts(assignment, students, missing + notes)))
    elif missing + notes:
        site_texts.write(missing + notes)


def _parts(assignment: Assignment, students: list[StudentResult], notes: str) -> Iterator[str]:
    """Yields the parts of the page as markup."""
    yield class_texts.finding(assignment, students) + notes + class_texts.refuted_notes(students)
    yield class_texts.class_table(assignment, students)
    yield class_texts.tasks_heading() + class_texts.task_table(task_summaries(assignment, students))
    yield class_texts.confidence_table(confidence_counts(students))
    yield from map(class_texts.pair_table, pair_summaries(assignment, students))
    yield class_texts.texts(assignment, students)


def _count_unused(sentences: Sequence[str]) -> str:
    return "1 file is not used" if len(sentences) == 1 else f"{len(sentences)} files are not used"


def _draw_removal() -> None:
    own = data().collected

    def remove() -> None:
        store_from_event(own, files={}, earlier={}, judged={}, chosen="", is_stopped=False, tried=own.tried + 1)

    st.button("Remove all files", key="remove results", type="tertiary", on_click=remove)


def _large_text(context: PageContext, result: Any) -> str:
    """Returns the results for the screen of a lecture, without names; nothing is computed there."""
    own = data().collected
    files = list(own.files.values())
    offered = _offered(own, files, context.view.assignment)
    if not offered:
        return class_texts.sentence(NO_FILES)
    used = class_files.sort_files(files, offered[0]).results
    students, _ = _known(own, used, _stamp(offered[0], context.view.device))
    if not students:
        return class_texts.sentence(NO_FILES)
    return class_texts.joined(_parts_without_names(offered[0], students))


def _parts_without_names(assignment: Assignment, students: list[StudentResult]) -> Iterator[str]:
    yield class_texts.finding(assignment, students)
    yield class_texts.task_table(task_summaries(assignment, students))
    yield from map(class_texts.pair_table, pair_summaries(assignment, students))
    yield class_texts.confidence_table(confidence_counts(students))


COLLECTED = Panel(
    "homework.collected",
    HEADING,
    details=_draw,
    pictures=(Picture(HEADING, text=_large_text),),
    file=None,
    is_visible=where(of_lessons="homework"),
    is_independent=True,
)
