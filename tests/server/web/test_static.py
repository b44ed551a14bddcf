"""What is vendored is what its record says, and nothing is fetched from elsewhere."""

import hashlib
import json
import re

from server.web.render import FOLDER, STATIC_FOLDER


def test_vendored_files_are_unchanged() -> None:
    record = json.loads((STATIC_FOLDER / "vendored.json").read_text("utf-8"))
    assert set(record) == {path.name for path in STATIC_FOLDER.glob("htmx*.js")}
    for name, entry in record.items():
        assert hashlib.sha256((STATIC_FOLDER / name).read_bytes()).hexdigest() == entry["sha256"]
        assert (STATIC_FOLDER / entry["licence"]).read_text("utf-8").strip()


def test_nothing_is_loaded_from_other_sites() -> None:
    files = [*(FOLDER / "templates").rglob("*.html"), *STATIC_FOLDER.glob("*.css"), STATIC_FOLDER / "site.js"]
    for path in files:
        assert not re.search(
            r"(https?:)?//[a-z]", path.read_text("utf-8").replace("http://www.w3.org", "")
        ), path


def test_every_style_sheet_uses_only_colours_of_the_tokens() -> None:
    for name in ("site.css", "code.css", "charts.css"):
        sheet = (STATIC_FOLDER / name).read_text("utf-8")
        assert set(re.findall(r"#[0-9a-fA-F]{3,6}\b", sheet)) <= {"#fff"}, name
        tokens = (STATIC_FOLDER / "tokens.css").read_text("utf-8")
        assert set(re.findall(r"var\(--([\w-]+)", sheet)) <= set(re.findall(r"--([\w-]+):", tokens)), name
