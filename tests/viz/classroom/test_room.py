"""The lecturer's room on the server's side: what the browser is given to show, and a question from its making to its end."""

import pytest

from tests.support.viz_helpers import HEADS, POSITIONS, Lab, made_session
from viz.classroom import room_panel
from viz.state.session_data import RoomData
from viz.state.view import View

TEXT = "The dog sleeps."


def asking(lab: Lab, number: int, guess: bool = False) -> dict:
    """What comes of asking."""
    lab.data.room.question = {"number": number, "step": 0, "guess": guess, "back": 1}
    return lab.run()._mounted(".frame_component")["question"]


def test_the_room_hides_what_is_the_lecturers():
    own = {"talk": "course", "stop": "2", "room": "ABCDEF", "own": "What was typed before."}
    lab = Lab(HEADS, text=TEXT, lecture="on", layer="2", head="3", step="2", **own)
    given = lab._mounted(".frame_component")
    assert given["page"] == "heads" and given["pageStep"] == 2 and given["exploring"] and given["whole"]
    assert given["query"] == {"text": TEXT, "layer": "2", "head": "3", "lecture": "on"}
    assert (
        Lab(text=TEXT)._mounted(".frame_component")["page"] == ""
        and Lab(POSITIONS, text=TEXT)._mounted(".frame_component")["pageStep"] == 0
    )


def test_a_question_is_made_once():
    lab = Lab(text=TEXT, step="2", guess="first")
    assert lab._mounted(".frame_component")["question"] is None
    made = asking(lab, 7)
    assert made["number"] == 7 and made["kind"] == "next" and made["about"] == TEXT and made["answer"] in made["options"]
    assert "guess" not in lab._mounted(".frame_component")["query"]  # as it was before the question
    assert lab.run()._mounted(".frame_component")["question"] == made
    assert asking(lab, 8)["number"] == 8
    assert asking(Lab(HEADS, text=TEXT), 3)["kind"] == "head"
    assert asking(Lab(POSITIONS, text=TEXT), 3)["fault"] == room_panel.NOTHING
    assert asking(Lab(text=""), 4)["fault"]


@pytest.mark.parametrize("guess", [False, True])
def test_asking_hides_the_next_token_until_the_end(monkeypatch, guess):
    session = made_session(monkeypatch, view=View(guess=guess, step=1), room=RoomData(steps=9))
    room_panel._ask(1, 4, hidden=False)
    assert session.view.guess and session.view.step == 4
    room_panel._ask(2, 5, hidden=True)  # it is hidden already
    assert session.room.question == {"number": 2, "step": 5, "guess": guess, "back": 4}
    room_panel._close(guess, 4)
    assert session.view.guess == guess and session.view.step == 3 and session.room.question is None
    room_panel._ask(3, 9, hidden=False)
    assert session.room.answer["fault"] == room_panel.LAST
    assert (session.view.step, session.view.guess) == (3, guess)
