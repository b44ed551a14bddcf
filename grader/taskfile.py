"""Runs an assignment's `task.py`, trusted code, and checks what it defines against `[[parts]]`."""

import importlib.util
import itertools
import sys
import threading
import traceback
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType

from grader.faults import AssignmentError, Fault, near
from grader.spec import Spec
from grader.task import CollectiveTask, DialogueTask, FunctionTask, Part, Parts

FILE = "task.py"
_KINDS: Mapping[str, type[Part]] = {
    "function": FunctionTask,
    "collective": CollectiveTask,
    "dialogue": DialogueTask,
}
_counter = itertools.count()


def load(root: Path, spec: Spec, digest: str) -> Parts:
    """The `PARTS` of the folder's `task.py`. Raises AssignmentError.

    Each load gets a package of its own, so that two versions never meet and `from . import model` finds the
    file beside `task.py`.
    """
    package = f"solmark_assignment_{digest[:12]}_{next(_counter)}"
    parent = ModuleType(package)
    parent.__path__ = [str(root)]
    name = f"{package}.task"
    module_spec = importlib.util.spec_from_loader(name, loader=None, origin=str(root / FILE))
    if module_spec is None:  # Never with loader=None; the types allow it.
        raise AssignmentError(spec.id, [Fault(FILE, "", "cannot be loaded")])
    module = importlib.util.module_from_spec(module_spec)
    module.__package__ = package
    module.__file__ = str(root / FILE)
    sys.modules[package] = parent
    sys.modules[name] = module
    try:
        source = (root / FILE).read_text("utf-8")
        exec(compile(source, str(root / FILE), "exec", dont_inherit=True), module.__dict__)  # noqa: S102
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt) and threading.current_thread() is threading.main_thread():
            raise  # A signal; in any other thread the file raised it itself.
        for loaded in [entry for entry in sys.modules if entry.split(".")[0] == package]:
            del sys.modules[loaded]
        raise AssignmentError(spec.id, [raised(error, root)]) from error
    parts = getattr(module, "PARTS", None)
    faults = part_faults(parts, spec)
    if faults or not isinstance(parts, Mapping):
        raise AssignmentError(spec.id, faults)
    return dict(parts)


def part_faults(parts: object, spec: Spec) -> list[Fault]:
    """What is wrong with `PARTS`, held against `[[parts]]`."""
    if not isinstance(parts, Mapping):
        found = "is missing" if parts is None else f"is a {type(parts).__name__}"
        return [Fault(FILE, "PARTS", found, "define PARTS = {name: FunctionTask(...)}")]
    declared = {part.name: part for part in spec.parts}
    faults = [
        Fault(FILE, f'PARTS["{name}"]', "assignment.toml has no such part", near(str(name), declared))
        for name in parts
        if name not in declared
    ]
    for name, part in declared.items():
        if name not in parts:
            faults.append(Fault(FILE, f'PARTS["{name}"]', "is missing", near(name, map(str, parts))))
        elif not isinstance(parts[name], _KINDS[part.kind]):
            found = type(parts[name]).__name__
            wanted = _KINDS[part.kind].__name__
            wrong = f"is a {found}, but assignment.toml says kind {part.kind!r}"
            faults.append(Fault(FILE, f'PARTS["{name}"]', wrong, f"right is a {wanted}"))
    return faults


def raised(error: BaseException, root: Path, doing: str = "") -> Fault:
    """The fault of an exception in the assignment's own code: the innermost of its lines."""
    what = f"{type(error).__name__}: {error}".rstrip(": ")
    if isinstance(error, SyntaxError):
        name, line = error.filename or FILE, error.lineno
        what = f"{type(error).__name__}: {error.msg}"
    else:
        frames = [
            frame for frame in traceback.extract_tb(error.__traceback__) if _is_under(frame.filename, root)
        ]
        name, line = (frames[-1].filename, frames[-1].lineno) if frames else (str(root / FILE), None)
    relative = Path(name).relative_to(root).as_posix() if _is_under(name, root) else name
    place = f"line {line}" if line else ""
    return Fault(relative, place, f"{doing}: {what}" if doing else what)


def _is_under(name: str, root: Path) -> bool:
    return Path(name).is_relative_to(root)
