"""What becomes of a picture as a PDF page, and what is no picture."""

import asyncio
import re

import pypdfium2
import pytest

from viz.shared.save import drawer, route
from viz.shared.save.pdf import pdf

HEAD = '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="400" height="200">'
PICTURE = f"""{HEAD}<title>Head cross 3.2</title>
<defs><linearGradient id="g"><stop offset="0" stop-color="#fff"/><stop offset="1" stop-color="#00f"/></linearGradient></defs>
<rect x="300" y="100" width="80" height="80" fill="url(#g)"/><rect x="0" y="100" width="50" height="50" fill="#ff0000"/>
<text x="10" y="30" font-family="'Source Sans', sans-serif" font-size="20">The cœur, naïve: il → it</text>
<g font-weight="600"><text x="10" y="60" font-family="Source Code Pro" font-size="14">softmax(QK/√d)</text></g>
<text x="200" y="60" font-size="14">Kᵀ 漢</text>
<text x="10" y="90" font-size="16" textLength="200" lengthAdjust="spacingAndGlyphs">&lt;s&gt; #read("x")</text></svg>"""
HOST = [(b"host", b"127.0.0.1:8501")]


def page(svg: str) -> pypdfium2.PdfPage:
    document = pypdfium2.PdfDocument(pdf(svg))
    assert len(document) == 1
    return document[0]


def ink(inner: str) -> int:
    """How dark the picture of a text is, in sum."""
    drawn = page(f"{HEAD}{inner}</svg>").render(scale=2, grayscale=True).to_numpy()
    return int((255 - drawn.astype(int)).sum())


def test_the_page_has_the_pictures_size_its_texts_and_its_name():
    made = page(PICTURE)
    assert made.get_size() == (300, 150)  # points; 400 x 200 pixels
    text = made.get_textpage().get_text_range()
    for line in ("The cœur, naïve: il → it", "softmax(QK/√d)", "Kᵀ", '<s> #read("x")'):
        assert line in text
    assert made.pdf.get_metadata_value("Title") == "Head cross 3.2"
    assert not list(made.get_objects(filter=[pypdfium2.raw.FPDF_PAGEOBJ_IMAGE], max_depth=5))


def test_fonts_and_paint_are_those_of_the_picture():
    made = pdf(PICTURE)
    for name in (b"+SourceSans3VF", b"+SourceCodeVF"):
        assert name in made, f"{name.decode()} is not in the file"
    drawn = page(PICTURE).render(scale=4 / 3, fill_color=(0, 0, 0, 0), rev_byteorder=True).to_numpy()
    assert tuple(drawn[125, 25]) == (255, 0, 0, 255)
    assert drawn[190, 200, 3] == 0, "what is not drawn is not painted over"
    left, right = drawn[140, 305], drawn[140, 375]
    assert left[0] > 200 > 60 > right[0], "a gradient runs from one colour to the other"


def test_a_letter_that_the_fonts_lack_does_not_change_the_font_of_all_others():
    made = pdf(f'{HEAD}<text x="5" y="60" font-size="20" font-family="Source Sans">Divide by √dₖₖ, and go on</text></svg>')
    names = set(re.findall(rb"/BaseFont\s*/\w+\+([\w-]+)", made))
    assert names and all(name.startswith(b"SourceSans3VF") for name in names), names
    assert "√dkk" in pypdfium2.PdfDocument(made)[0].get_textpage().get_text_range()


def test_every_weight_is_as_bold_as_it_says():
    """A font with an axis of weights: 400 is not its thinnest."""
    text = '<text x="5" y="60" font-size="40" font-family="Source Sans" {}>because</text>'
    said = ['font-weight="200"', "", 'style="font-weight: 600"', 'font-weight="900"']
    amounts = [ink(text.format(one)) for one in said]
    assert amounts == sorted(amounts)
    assert amounts[1] > 1.3 * amounts[0] and amounts[2] > 1.1 * amounts[1]
    assert ink(f'<g style="font-weight: bold">{text.format("")}</g>') > 1.2 * amounts[1]


BOMB = '<!DOCTYPE svg [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;">]>'


@pytest.mark.parametrize(
    ("svg", "told"),
    [
        ("", "not a whole SVG"),
        ("a text", "not a whole SVG"),
        (PICTURE[:300], "not a whole SVG"),
        (f"{BOMB}{HEAD}<text>&b;</text></svg>", "DOCTYPE"),
        ('<!DOCTYPE svg SYSTEM "file:///etc/passwd"><svg/>', "DOCTYPE"),
        ("<html/>", "element 'html'"),
        ('<g xmlns="http://www.w3.org/2000/svg"/>', "not an SVG"),
        (f'{HEAD}<image href="data:image/png;base64,AA"/></svg>', "element 'image'"),
        (f'{HEAD}<g href="http://a.example/x.png"/></svg>', "another file or element: href"),
        (f'{HEAD}<g xlink:href="file:///etc/passwd"/></svg>', "another file or element: href"),
        (f'{HEAD}<linearGradient id="a"/><linearGradient id="b" xlink:href="#a"/></svg>', "another file or element: href"),
        (f'{HEAD}<clipPath id="a" clip-path="url(#b)"/><clipPath id="b"/></svg>', "one rect"),
        (f'{HEAD}<clipPath id="a" style="clip-path: URL(#b)"><rect/></clipPath></svg>', "one rect"),
        (f'{HEAD}<clipPath id="a"><rect clip-path="url(#b)"/></clipPath></svg>', "one rect"),
        (f'{HEAD}<clipPath id="a"><rect/><rect/></clipPath></svg>', "one rect"),
        (f'{HEAD}<clipPath id="a"><text>many letters</text></clipPath></svg>', "one rect"),
        (f'{HEAD}<rect fill="url(http://a.example/#g)"/></svg>', "another file or element: fill"),
        (f'{HEAD}<rect style="fill: u\\72l(x)"/></svg>', "another file or element: style"),
        (f"{HEAD}<style>@import 'x.css';</style></svg>", "element 'style'"),
        (f'{HEAD}<use href="#a"/></svg>', "element 'use'"),
        (f"{HEAD}<script>1</script></svg>", "element 'script'"),
        (HEAD + "<g>" * 100 + "</g>" * 100 + "</svg>", "nested deeper"),
        ('<svg xmlns="http://www.w3.org/2000/svg" width="1e9" height="3"/>', "width and a height"),
        ('<svg xmlns="http://www.w3.org/2000/svg" width="99999" height="3"/>', "width and a height"),
        ('<svg xmlns="http://www.w3.org/2000/svg"/>', "width and a height"),
    ],
)
def test_what_is_no_picture_is_told_in_one_sentence(svg, told):
    with pytest.raises(ValueError, match=told) as caught:
        pdf(svg)
    assert len(str(caught.value).splitlines()) == 1


def test_a_picture_that_takes_too_long_ends_neither_the_lab_nor_the_next_picture(monkeypatch):
    assert drawer.draw(PICTURE).startswith(b"%PDF")
    first = drawer._process
    with monkeypatch.context() as short:
        short.setattr(drawer, "PATIENCE", 0.0)
        with pytest.raises(ValueError, match="too much for a PDF"):
            drawer.draw(f"{HEAD}{'<rect/>' * 50_000}</svg>")
    assert first.wait(60) < 0
    with pytest.raises(ValueError, match="not an SVG"):
        drawer.draw('<g xmlns="http://www.w3.org/2000/svg"/>')
    assert drawer.draw(PICTURE).startswith(b"%PDF") and drawer._process is not first


async def elsewhere(scope, receive, send):
    await send({"type": "http.response.start", "status": 299, "headers": []})
    await send({"type": "http.response.body", "body": b""})


def ask(*parts: bytes, method: str = "POST", path: str = route.PATH, headers=(), app=None) -> tuple[int, dict, bytes]:
    """Status, headers and body of an answer."""
    sent, waiting = [], [{"type": "http.request", "body": one, "more_body": True} for one in parts]

    async def receive():
        return waiting.pop(0) if waiting else {"type": "http.request", "body": b"", "more_body": False}

    async def send(message):
        sent.append(message)

    scope = {"type": "http", "path": path, "method": method, "headers": [*HOST, *headers]}
    asyncio.run((app or route.with_pdf(elsewhere))(scope, receive, send))
    return sent[0]["status"], dict(sent[0]["headers"]), sent[1]["body"]


def test_the_route_answers_with_a_page_and_passes_on_all_else():
    whole = PICTURE.encode()
    status, headers, body = ask(whole[:100], whole[100:], headers=[(b"origin", b"http://127.0.0.1:8501")])
    assert (status, headers[b"content-type"]) == (200, b"application/pdf")
    assert body.startswith(b"%PDF") and int(headers[b"content-length"]) == len(body)
    assert ask(whole, path="/save")[0] == 299


@pytest.mark.parametrize(
    ("status", "parts", "others"),
    [
        (400, [b""], {}),
        (400, [b"\xff\xfe"], {}),
        (405, [b""], {"method": "GET"}),
        (403, [PICTURE.encode()], {"headers": [(b"origin", b"http://a.example")]}),
        (413, [b""], {"headers": [(b"content-length", b"99999999")]}),
        (413, [b" " * route.LARGEST, b" "], {}),
    ],
)
def test_the_route_refuses_with_a_sentence(status, parts, others):
    found, headers, body = ask(*parts, **others)
    assert (found, headers[b"content-type"]) == (status, b"text/plain; charset=utf-8")
    assert body.endswith(b".\n") and body.count(b"\n") == 1


def test_no_more_than_some_pictures_are_held_at_once(monkeypatch):
    monkeypatch.setattr(route, "AT_ONCE", 1)
    app = route.with_pdf(elsewhere)
    statuses = []

    async def both():
        first_is_in, may_end = asyncio.Event(), asyncio.Event()

        async def slow():
            first_is_in.set()
            await may_end.wait()
            return {"type": "http.request", "body": PICTURE.encode()}

        async def send(message):
            statuses.append(message.get("status"))

        scope = {"type": "http", "path": route.PATH, "method": "POST", "headers": HOST}
        first = asyncio.create_task(app(scope, slow, send))
        await first_is_in.wait()
        await app(scope, slow, send)
        may_end.set()
        await first

    asyncio.run(both())
    assert [one for one in statuses if one] == [503, 200]
