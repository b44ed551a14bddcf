"""The two pages of an assignment: the same headings and numbers in English and Chinese, no figure missing."""

import re
from collections import Counter

from grader.assignment import Assignment
from grader.check.finding import Finding, fails, holds, warning

_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_HEADING = re.compile(r"^(#+) ", re.MULTILINE)
_TITLE = re.compile(r"^#+ (.+)$", re.MULTILINE)
_FIGURE = re.compile(r"\]\((figures/[^)\s]+)\)")
_CONTENT = {
    "## Theory": "a page of theory",
    "## The bound": "the bound",
    "## Common mistakes": "common mistakes",
    "## Further reading": "further reading, by title",
    "*Proof": "the proof of the bound",
    "](figures/": "a figure",
}
"""What a complete page in English holds."""
_CHINESE = re.compile("[\u4e00-\u9fff]")


def check(assignment: Assignment) -> list[Finding]:
    """What differs between the two pages."""
    english, chinese = assignment.readme("en"), assignment.readme("zh")
    wrong: list[str] = []
    levels = [[len(marks) for marks in _HEADING.findall(page)] for page in (english, chinese)]
    if levels[0] != levels[1]:
        wrong.append(f"the headings differ: levels {levels[0]} and {levels[1]}")
    if not levels[0]:
        wrong.append("there is no heading")
    numbers = [Counter(_NUMBER.findall(page)) for page in (english, chinese)]
    if numbers[0] != numbers[1]:
        only = [sorted((numbers[a] - numbers[b]).elements())[:8] for a, b in ((0, 1), (1, 0))]
        wrong.append(f"the numbers differ: only in English {only[0]}, only in Chinese {only[1]}")
    if not _CHINESE.search(chinese):
        wrong.append("README.zh.md holds no Chinese")
    if _CHINESE.search(english):
        wrong.append("README.md holds Chinese")
    titles = zip(_TITLE.findall(english), _TITLE.findall(chinese), strict=False)
    wrong += [
        f"the heading {other!r} of README.zh.md repeats the English one"
        for one, other in titles
        if one.partition(",")[0] in other and _CHINESE.search(other)
    ]
    figures = [Counter(_FIGURE.findall(page)) for page in (english, chinese)]
    wrong += [f"{name} is on one page only" for name in sorted(set(figures[0]) ^ set(figures[1]))]
    wrong += [
        f"{name} does not exist"
        for name in sorted(set(figures[0] | figures[1]))
        if not (assignment.root / name).is_file()
    ]
    if wrong:
        return [fails("pages", problem) for problem in wrong]
    missing = [what for mark, what in _CONTENT.items() if mark not in english]
    missing += [
        f"the milestone {one.name} on {target.hardware}, {_percent(one.fraction)}"
        for target in assignment.spec.targets
        for one in target.milestones
        if not re.search(rf"(?<![\d.]){re.escape(_percent(one.fraction))}", english)
    ]
    return [
        holds("pages", f"{len(levels[0])} headings and {numbers[0].total()} numbers agree"),
        *(warning("pages", f"README.md lacks {what}") for what in missing),
    ]


def _percent(fraction: float) -> str:
    """As pages write it: 33.2 %, but 100 %."""
    return f"{100 * fraction:.1f}".removesuffix(".0") + " %"
