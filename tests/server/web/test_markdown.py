"""Texts of assignments become safe HTML with maths."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from server.web import markdown


@pytest.mark.parametrize(
    ("source", "wanted"),
    [
        ("$x^2$", "<msup><mi>x</mi><mn>2</mn></msup>"),
        ("$$\\frac{a}{b}$$", 'display="block"'),
        ("$$\\begin{aligned}a&=b\\\\c&=d\\end{aligned}$$", "<mtr>"),
        ("$\\nosuchcommand$", "<code>\\nosuchcommand</code>"),
        ("it costs $5 and $6", "it costs $5 and $6"),
        ("```python\ndef f(): pass\n```", '<span class="k">def</span>'),
        ("| a |\n|--:|\n| 1 |", '<td class="number">1</td>'),
        ("求和，\n再平方", "<p>求和，再平方</p>"),
        ("求和 `x`\n再 ab\ncd", "</code>\n再 ab\ncd"),
        ("# One\n## Two", "<h3 id="),
        ("![a](b.png)", '<img src="/at/b.png" alt="a">'),
        ("![a](https://x.example/b.png)", 'src="https://x.example/b.png"'),
    ],
)
def test_what_authors_write(source: str, wanted: str) -> None:
    assert wanted in markdown.render(source, lambda path: f"/at/{path}").html


@pytest.mark.parametrize(
    "source",
    [
        "<script>alert(1)</script>",
        "[x](javascript:alert(1))",
        "![x](javascript:alert(1))",
        '<img src=x onerror="alert(1)">',
        "$\\text{<img src=x onerror=alert(1)>}$",
        "$<script>alert(1)</script>$",
        "```<script>alert(1)\nx\n```",
        "<div style='position:fixed'>",
    ],
)
def test_no_text_becomes_active(source: str) -> None:
    html = str(markdown.render(source).html)
    tags = re.findall(r"<[^>]*>", html)
    assert not [tag for tag in tags if re.search(r"<(script|img)|javascript:|\son\w+=|\sstyle=", tag)], html


@settings(max_examples=60, deadline=None)
@given(st.text(alphabet="\\{}$_^&<>ab \n|`#[]()!\"'", max_size=60))
def test_any_text_is_rendered(source: str) -> None:
    html = str(markdown.render(source).html)
    assert "<script" not in html
    assert "onerror=" not in html


def test_headings_are_listed_for_the_contents() -> None:
    document = markdown.render("# T\n## The `a` and $b$\n### no\n## More")
    assert [text for _, text in document.headings] == ["The a and b", "More"]
    for anchor, _ in document.headings:
        assert f'id="{anchor}"' in document.html


def test_source_keeps_its_lines_and_is_escaped() -> None:
    html = str(markdown.source("x = '''\n<b>\f\u2028'''\n\ny\n", "a.py"))
    assert html.count('class="line"') == 4
    assert "<b>" not in html


def test_a_long_source_has_numbers_and_no_colours() -> None:
    line = "x = 1  # <b>\n"
    for times, coloured in ((10, True), (markdown.COLOURED_CHARS // len(line) + 1, False)):
        html = str(markdown.source(line * times, "a.py"))
        assert html.count('class="line"') == times
        assert ('class="mi"' in html) is coloured
        assert "<b>" not in html
