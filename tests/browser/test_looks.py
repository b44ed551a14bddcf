"""Pages in the dark, on a phone, and by keyboard alone."""

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

Open = Callable[..., Page]


def _addresses(site: Any, seed: Any) -> list[str]:
    return [
        "/courses", "/courses/demo", "/courses/demo/submissions", "/courses/demo/scores", seed.ADDRESS,
        f"{seed.ADDRESS}/board", "/account", "/staff/queue",
        *(f"/submissions/{found}" for found in site.submissions.values()),
    ]  # fmt: skip


@pytest.mark.parametrize("language", ["en-GB", "zh-CN"])
def test_no_page_is_wider_than_a_phone(open_page: Open, site: Any, seed: Any, language: str) -> None:
    page = open_page("tara", language, viewport={"width": 360, "height": 740})
    for address in _addresses(site, seed):
        page.goto(address)
        assert page.evaluate("document.documentElement.scrollWidth") <= 360, address


def test_staff_see_every_column_of_all_submissions(open_page: Open, seed: Any) -> None:
    page = open_page("tara", viewport={"width": 1280, "height": 800})
    page.goto("/courses/demo/submissions")
    table = page.locator(".scroll")
    assert table.evaluate("box => box.scrollWidth <= box.clientWidth")
    expect(table).to_contain_text("solution.py")
    expect(table).to_contain_text(seed.ASSIGNMENT)


def test_colours_follow_the_system(open_page: Open) -> None:
    grounds = {}
    for scheme in ("light", "dark"):
        page = open_page(None, color_scheme=scheme)
        page.goto("/login")
        grounds[scheme] = page.evaluate("getComputedStyle(document.body).backgroundColor")
        inputs = page.evaluate("getComputedStyle(document.querySelector('#login')).color")
        assert inputs == page.evaluate("getComputedStyle(document.body).color")
    assert grounds == {"light": "rgb(251, 249, 244)", "dark": "rgb(22, 21, 19)"}


def test_nothing_that_was_handed_in_runs(open_page: Open, site: Any, seed: Any) -> None:
    page = open_page("tara")
    for address in _addresses(site, seed):
        page.goto(address)
        assert page.locator("img[src=x]").count() == 0
        assert page.evaluate("document.scripts.length") == 3


def test_by_keyboard_alone(open_page: Open, seed: Any) -> None:
    page = open_page()
    page.goto(f"/login?next={seed.ADDRESS}")
    page.keyboard.press("Tab")
    expect(page.locator(":focus")).to_have_text("Skip to content")
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    expect(page.locator("#login")).to_be_focused()
    page.keyboard.type("ada")
    page.keyboard.press("Tab")
    page.keyboard.type(seed.PASSWORD)
    page.keyboard.press("Enter")
    page.wait_for_url(f"**{seed.ADDRESS}")
    _tab_to(page, "#code")
    page.keyboard.type("x = 1")
    _tab_to(page, "#submit button.primary")
    page.keyboard.press("Enter")
    expect(page.locator("#state")).to_contain_text("In the queue")


def _tab_to(page: Page, selector: str) -> None:
    """Press Tab until the element has the focus; each stop on the way must be seen to have it."""
    for _ in range(60):
        page.keyboard.press("Tab")
        outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert outline != "none", page.evaluate("document.activeElement.outerHTML")
        if page.evaluate("selector => document.activeElement.matches(selector)", selector):
            return
    raise AssertionError(f"{selector} is not reached by Tab")
