"""Markdown of assignments to safe HTML: tables, highlighted code, and maths as MathML (no JavaScript).

Raw HTML in the source is shown as text, and all output passes an allow-list: an assignment's author is
trusted with points, not with the readers' sessions.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from html import escape
from itertools import pairwise
from typing import Any

import nh3
from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup
from mdit_py_plugins.anchors import anchors_plugin
from mdit_py_plugins.dollarmath import dollarmath_plugin
from mdit_py_plugins.footnote import footnote_plugin
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name
from pygments.lexers.special import TextLexer
from pygments.util import ClassNotFound

_MATH_TAG_NAMES = (
    "math mrow mi mo mn ms mtext mspace mfrac msqrt mroot msub msup msubsup munder mover munderover "
    "mmultiscripts mprescripts mtable mtr mtd mpadded mphantom mstyle menclose"
)
_MATH_ATTRIBUTE_NAMES = (
    "mathvariant stretchy fence separator form accent accentunder lspace rspace largeop movablelimits "
    "symmetric minsize maxsize linethickness columnalign rowspacing columnspacing displaystyle "
    "scriptlevel width height depth"
)
_TEXT_TAG_NAMES = (
    "a p br hr h2 h3 h4 h5 h6 ul ol li dl dt dd em strong s code pre blockquote table thead tbody tr th td "
    "img figure figcaption div span sup section"
)
_MATH_TAGS = frozenset(_MATH_TAG_NAMES.split())
_MATH_ATTRIBUTES = frozenset(_MATH_ATTRIBUTE_NAMES.split())
_TAGS = _MATH_TAGS | frozenset(_TEXT_TAG_NAMES.split())
_ATTRIBUTES: Mapping[str, set[str]] = {
    "*": {"id"},
    "a": {"href", "title", "class"},
    "img": {"src", "alt", "title"},
    "code": {"class"},
    "pre": {"class", "tabindex"},
    "div": {"class", "tabindex"},
    "span": {"class"},
    "section": {"class"},
    "td": {"class"},
    "th": {"class", "scope"},
    "ol": {"start", "class"},
    "math": {"display", "xmlns"},
    **{tag: set(_MATH_ATTRIBUTES) for tag in _MATH_TAGS - {"math"}},
}
_LANGUAGES = {"cpp": "cpp", "cuda": "cuda", "python": "python", "triton": "python"}
_SUFFIXES = {
    ".py": "python", ".cpp": "cpp", ".cc": "cpp", ".h": "cpp", ".hpp": "cpp", ".cu": "cuda", ".cuh": "cuda",
    ".toml": "toml", ".json": "json", ".md": "markdown",
}  # fmt: skip

_ID_PREFIX = "spec-"
COLOURED_CHARS = 16 << 10
_WIDE = re.compile("[\u2e80-\u9fff\uf900-\ufaff\uff00-\uffef]")


@dataclass(frozen=True)
class Document:
    """A text as HTML, and its headings of the second level: (id, text) each."""

    html: Markup
    headings: Sequence[tuple[str, str]]


def render(source: str, image_url: Callable[[str], str] = lambda path: path) -> Document:
    """HTML of a Markdown text; `image_url` maps a relative image path of the bundle to its address.

    The text's own first-level headings become second-level ones: the page's title is the only h1.
    """
    parser = _parser()
    tokens = parser.parse(source)
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(int(token.tag[1]) + 1, 6)}"
        if token.type in ("th_open", "td_open"):
            right = token.attrGet("style") == "text-align:right"
            token.attrs = {"class": "number"} if right else {}  # The site's policy refuses style attributes.
        if token.type == "th_open":
            token.attrSet("scope", "col")
        _join_lines(token.children or [])
        for child in token.children or ():
            src = child.attrGet("src") if child.type == "image" else None
            if isinstance(src, str) and "://" not in src and not src.startswith("/"):
                child.attrSet("src", image_url(src.removeprefix("./")))
    html = _clean(parser.renderer.render(tokens, parser.options, {}))
    return Document(html, [*_headings(tokens)])


def source(text: str, name: str) -> Markup:
    """A source file as a highlighted block with numbered lines; the suffix of `name` picks the lexer.

    One of more than `COLOURED_CHARS` has numbers alone: to tell its words apart would take seconds.
    """
    suffix = "." + name.rpartition(".")[2].lower() if len(text) <= COLOURED_CHARS else ""
    formatter = HtmlFormatter[str](nowrap=True)
    lines = highlight(text, _lexer(_SUFFIXES.get(suffix, "")), formatter).removesuffix("\n").split("\n")
    body = "\n".join(f'<span class="line">{line}</span>' for line in lines)
    return Markup('<pre class="source code" tabindex="0"><code>{}</code></pre>').format(
        Markup(body)  # noqa: S704 - Pygments has escaped it.
    )


def maths(latex: str, *, display: bool) -> str:
    """MathML of a LaTeX formula; what cannot be converted is shown as its source."""
    from latex2mathml.converter import convert

    text = latex.strip()
    for name in ("aligned", "split"):
        text = text.replace(f"{{{name}}}", "{align*}")
    try:
        mathml = convert(text, display="block" if display else "inline")
    except Exception:  # noqa: BLE001 - the converter raises bare and varied exceptions on bad input.
        mathml = ""
    if not mathml or "<mi>\\" in mathml:  # A command that the converter does not know.
        return f"<code>{escape(text)}</code>"
    return mathml


@lru_cache(maxsize=1)
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False, "highlight": _highlight})
    parser.enable(["table", "strikethrough"])
    parser.use(dollarmath_plugin, renderer=_math, double_inline=True, allow_digits=False)
    parser.use(footnote_plugin)
    parser.use(anchors_plugin, min_level=1, max_level=3)
    return parser


def _math(content: str, options: Mapping[str, Any]) -> str:
    return maths(content, display=bool(options.get("display_mode")))


def _highlight(code: str, language: str, _attributes: str) -> str:
    return highlight(code, _lexer(_LANGUAGES.get(language, language)), HtmlFormatter[str](nowrap=True))


def _lexer(name: str) -> Any:
    try:
        return get_lexer_by_name(name, stripnl=False) if name else TextLexer(stripnl=False)
    except ClassNotFound:
        return TextLexer(stripnl=False)


def _join_lines(children: list[Token]) -> None:
    """A line end between two Chinese characters is no space."""
    for before, end, after in zip(children, children[1:], children[2:], strict=False):
        if end.type == "softbreak" and _WIDE.match(before.content[-1:]) and _WIDE.match(after.content[:1]):
            end.type = "text"


def _headings(tokens: Sequence[Token]) -> Iterator[tuple[str, str]]:
    for token, inline in pairwise(tokens):
        anchor = token.attrGet("id")
        if token.type == "heading_open" and token.markup == "##" and anchor:
            yield f"{_ID_PREFIX}{anchor}", "".join(child.content for child in inline.children or ())


def _own_anchors(tag: str, attribute: str, value: str) -> str:
    own = tag == "a" and attribute == "href" and value.startswith("#")
    return f"#{_ID_PREFIX}{value[1:]}" if own else value


def _clean(html: str) -> Markup:
    attributes = {tag: set(names) for tag, names in _ATTRIBUTES.items()}
    clean = nh3.clean(
        html,
        tags=set(_TAGS),
        attributes=attributes,
        url_schemes={"http", "https", "mailto"},
        id_prefix=_ID_PREFIX,
        attribute_filter=_own_anchors,
    )
    return Markup(clean)  # noqa: S704 - nh3 has cleaned it.
