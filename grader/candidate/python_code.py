"""Python submissions (PyTorch and Triton): loading them, one call, a timed round."""

import gc
import importlib.util
import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from .arena import Arena, Slots
from .device import DeviceArena
from .failures import SubmissionError, of_exception
from .frames import ANSWERS, COMMANDS, DONE, GO, NONCE, ROUND_FRAME


class PythonCode:
    """A loaded module and the argument lists of the current case."""

    def __init__(self, arena: Arena | DeviceArena, folder: str) -> None:
        self._arena = arena
        self._folder = folder
        self._module: ModuleType | None = None
        self._solve: Callable[..., Any] | None = None
        self._arguments: list[tuple[Any, ...]] = []
        self._scalars: dict[str, Any] = {}

    def load(self, entry: str, file: str) -> None:
        """Import the entry file and look up its function, if it has one."""
        name = Path(file).stem
        sys.path.insert(0, self._folder)
        spec = importlib.util.spec_from_file_location(name, f"{self._folder}/{file}")
        if spec is None or spec.loader is None:
            raise SubmissionError("import", file)
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        try:
            spec.loader.exec_module(module)
        except SyntaxError as error:
            raise of_exception(error, self._folder, "syntax") from error
        except ImportError as error:
            raise of_exception(error, self._folder, "import") from error
        except BaseException as error:
            raise of_exception(error, self._folder, "load_exception") from error
        self._module = module
        if entry:
            self._find(entry)

    @property
    def module(self) -> ModuleType:
        """The loaded entry file."""
        assert self._module is not None
        return self._module

    def bind(self, slots: Slots, entry: str) -> None:
        """Make the arguments of every slot."""
        self._find(entry)
        self._arguments = self._arena.arguments(slots)
        self._scalars = dict(slots.scalars)

    def call(self, slot: int) -> None:
        """One call; flushes what it printed."""
        assert self._solve is not None
        try:
            result = self._solve(*self._arguments[slot], **self._scalars)
        except BaseException as error:
            raise self._failure(error) from error
        finally:
            _flush()
        if result is not None:
            raise returned(result)

    def prepare_round(self, calls: int) -> str:  # noqa: ARG002 (the same door as that of other languages)
        """Nothing of ours may start to run between fill and `done`. No remark for the author."""
        gc.collect()
        gc.freeze()
        gc.disable()
        return ""

    def round(self, calls: int) -> None:
        """Wait for `go`, make the calls, answer `done`."""
        solve, scalars, rows = self._solve, self._scalars, self._arguments[:calls]
        assert solve is not None
        frame = os.read(COMMANDS, ROUND_FRAME)
        if not frame.startswith(GO):
            raise SystemExit(0)  # The judge has closed the channel.
        try:
            if scalars:
                for arguments in rows:
                    if (result := solve(*arguments, **scalars)) is not None:
                        raise returned(result)
            else:
                for arguments in rows:
                    if (result := solve(*arguments)) is not None:
                        raise returned(result)
        except BaseException as error:
            raise self._failure(error) from error
        finally:
            gc.enable()
        os.write(ANSWERS, DONE + frame[NONCE])

    def _find(self, entry: str) -> None:
        solve = getattr(self._module, entry, None)
        if solve is None:
            raise SubmissionError("missing_entry")
        if not callable(solve):
            raise SubmissionError("not_callable")
        self._solve = solve

    def _failure(self, error: BaseException) -> SubmissionError:
        trace = error.__traceback__
        own_frame = trace is not None and trace.tb_next is not None
        if isinstance(error, TypeError) and not own_frame:
            return of_exception(error, self._folder, "signature")
        return of_exception(error, self._folder, "exception")


def returned(result: object) -> SubmissionError:
    """The failure of a function that returns a value."""
    detail = type(result).__name__
    try:
        shape = getattr(result, "shape", None)
        if shape is not None:
            detail += f" of shape {tuple(shape)}"
    except BaseException:  # noqa: BLE001 (student code: the type says enough)
        return SubmissionError("returned", detail)
    return SubmissionError("returned", detail)


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):  # The submission may have closed it.
            continue
