"""Messages to a real browser: an unchanged component is its digests, and its picture is there all the same."""

from collections.abc import Callable

from playwright.sync_api import Page, WebSocketRoute, expect
from streamlit.proto.BidiComponent_pb2 import BidiComponent
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from tests.browser.conftest import idle, translation, type_text
from viz import pages


def component(frame: bytes) -> BidiComponent | None:
    """Returns the component of a frame from the server, or None."""
    message = ForwardMsg.FromString(frame)
    element = message.delta.new_element
    return element.bidi_component if element.WhichOneof("type") == "bidi_component" else None


class Received:
    """The components that a page receives from its next load on, and the slots of the stored parts."""

    def __init__(self, page: Page) -> None:
        self.components: list[BidiComponent] = []
        page.on("websocket", lambda socket: socket.on("framereceived", self._hear))

    def _hear(self, frame: bytes | str) -> None:
        if isinstance(frame, bytes) and (found := component(frame)):
            self.components.append(found)

    @property
    def slots(self) -> list[str]:
        carried = [
            each.bytes.decode().split("\n")[::3] for each in self.components if each.component_name.endswith(".stored_part")
        ]
        return sorted(slot for slots in carried for slot in slots)

    def during(self, page: Page, act: Callable[[], None]) -> list[str]:
        """Returns the slots of the parts that an action makes the server send."""
        self.components.clear()
        act()
        idle(page)
        return self.slots


def follow(page: Page, name: str) -> Callable[[], None]:
    def click() -> None:
        page.get_by_test_id("stSidebarNav").get_by_role("link", name=name, exact=True).click()
        page.locator("h1", has_text=pages.find(name.lower()).question).wait_for()

    return click


def test_an_unchanged_run_sends_no_part(visit):
    page = visit()
    received, before = Received(page), translation(page)
    slots = received.during(page, lambda: page.reload())
    page.locator(".timeline .said").wait_for()
    idle(page)
    assert {"assets timeline", "translate.steps 0", "translate.candidates 0"} <= {*slots, *received.slots}, (
        "a reload sends all of them"
    )
    assert translation(page) == before
    chip = page.locator(".timeline .chip, .timeline button").first.element_handle()
    assert received.during(page, lambda: page.locator(".st-key-translate button").click()) == []
    sizes = {each.component_name: each.ByteSize() for each in received.components}
    assert sizes.pop("attention_lab.frame_component") < 3000  # in every run
    assert sizes and max(sizes.values()) < 1500
    assert chip.evaluate("node => node.isConnected"), "a component with unchanged data is not drawn again"
    assert "translate.steps 0" in received.during(page, lambda: type_text(page, "The cat sleeps."))
    assert received.during(page, lambda: page.locator(".st-key-translate button").click()) == []


APPEARANCE = """() => [document.title, getComputedStyle(document.documentElement).getPropertyValue("--lab-page"),
    document.querySelector('[data-testid="stMainBlockContainer"]').clientWidth,
    document.getElementById("lab-colours")?.textContent]"""


def test_title_and_colours_travel_once_and_stay(visit):
    page, sent = visit(), []

    def hear(frame: bytes | str) -> None:
        if isinstance(frame, bytes):
            message = ForwardMsg.FromString(frame)
            is_style = message.delta.new_element.html.body.startswith("<style>:root")
            sent.append("colours" if is_style else message.WhichOneof("type"))

    page.on("websocket", lambda socket: socket.on("framereceived", hear))
    page.reload()
    page.locator(".timeline .said").wait_for()
    idle(page)
    before = page.evaluate(APPEARANCE)
    assert {"colours", "page_config_changed"} <= {*sent} and before[0] == "Attention Lab"
    assert before[1] and f"--lab-page:{before[1]};" in before[3]
    sent.clear()
    page.locator(".st-key-translate button").click()
    idle(page)
    follow(page, "Heads")()
    idle(page)
    assert "script_finished" in sent and not {"colours", "page_config_changed"} & {*sent}
    assert page.evaluate(APPEARANCE) == before
    page.emulate_media(color_scheme="dark")
    page.wait_for_function(f"(now => now[1] !== '{before[1]}' && now[3].includes(now[1]))(({APPEARANCE})())")
    idle(page)
    assert "colours" in sent


def test_pictures_survive_a_change_of_page_and_return(visit):
    page = visit()
    received, before = Received(page), translation(page)
    page.reload()
    page.locator(".timeline .said").wait_for()
    idle(page)
    assert "assets all_heads" in received.during(page, follow(page, "Heads"))
    assert page.locator(".all-heads canvas").count() > 3
    assert not {"assets timeline", "translate.steps 0"} & {*received.during(page, follow(page, "Translate"))}
    assert translation(page) == before
    assert received.during(page, follow(page, "Heads")) == []
    assert page.locator(".all-heads canvas").count() > 3
    page.go_back()
    idle(page)
    assert translation(page) == before


def test_a_lost_part_is_sent_again(visit):
    page, lost, losing = visit(), [], []

    def pass_on(socket: WebSocketRoute) -> None:
        server = socket.connect_to_server()

        def send(frame: bytes | str) -> None:
            if (
                losing
                and isinstance(frame, bytes)
                and (found := component(frame))
                and found.component_name.endswith(".stored_part")
            ):
                message = ForwardMsg.FromString(frame)
                lost.append(found.bytes)
                message.delta.new_element.bidi_component.bytes = b"lost\nlost\n{}"
                frame = message.SerializeToString()
                losing.clear()
            socket.send(frame)

        server.on_message(send)

    page.route_web_socket("**/_stcore/stream", pass_on)
    page.reload()
    page.locator(".timeline .said").wait_for()
    idle(page)
    losing.append(True)
    type_text(page, "The cat sleeps.")
    assert [each.split(b"\n")[0] for each in lost] == [b"translate.steps 0"]
    expect(page.locator(".timeline .said")).to_contain_text("Le chat dort")
    assert page.locator(".timeline").count() == 1
