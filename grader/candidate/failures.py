"""What went wrong in a submission, in its author's terms: only his own frames, only his own file names."""

import traceback
from types import TracebackType

TEXT_CHARS = 8000


class SubmissionError(Exception):
    """The submission cannot do what was asked; `kind` is one of `FailureKind` in the judge's messages."""

    def __init__(self, kind: str, text: str = "", number: int | None = None) -> None:
        super().__init__(text)
        self.kind = kind
        self.text = _short(text)
        self.number = number


def of_exception(error: BaseException, folder: str, kind: str) -> SubmissionError:
    """An exception that came out of student code as a failure of `kind`, or of a better fitting one."""
    if isinstance(error, SubmissionError):
        return error
    if isinstance(error, SystemExit):
        return SubmissionError("exit", words(error.code if error.code is not None else 0) or "1")
    if out_of_memory(error):
        return SubmissionError("memory", _describe(error, folder))
    if type(error).__name__ == "OutOfMemoryError":
        return SubmissionError("device_memory", _describe(error, folder))
    if type(error).__name__ == "AcceleratorError" or words(error).startswith("CUDA error"):
        return SubmissionError("cuda", words(error).partition("\n")[0])
    return SubmissionError(kind, _describe(error, folder))


def words(error: object) -> str:
    """What an exception says; nothing where its `__str__` raises."""
    try:
        return "".join((str(error),))  # A plain string, whatever subclass of it that is.
    except BaseException:  # noqa: BLE001 (student code)
        return ""


def out_of_memory(error: BaseException) -> bool:
    """Whether an allocation was refused: by Python, or by torch's allocator."""
    return isinstance(error, MemoryError) or (
        isinstance(error, RuntimeError) and "DefaultCPUAllocator" in words(error)
    )


def _describe(error: BaseException, folder: str) -> str:
    """The exception's last lines, then the traceback through the author's files."""
    try:
        last = "".join(traceback.format_exception_only(error)).strip()
    except BaseException:  # noqa: BLE001 (a __str__ that raises)
        last = type(error).__name__
    frames = _frames(error.__traceback__, folder)
    return (last + ("\n" + frames if frames else "")).replace(folder + "/", "")


def _frames(trace: TracebackType | None, folder: str) -> str:
    own = [frame for frame in traceback.extract_tb(trace) if frame.filename.startswith(folder)]
    return "".join(traceback.format_list(own[-8:])).rstrip()


def _short(text: str) -> str:
    if len(text) <= TEXT_CHARS:
        return text
    return text[: TEXT_CHARS // 2] + "\n[...]\n" + text[-TEXT_CHARS // 2 :]
