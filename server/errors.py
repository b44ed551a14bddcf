"""Errors of the domain: each knows its HTTP status, a stable code, and its sentence in both languages."""

# ruff: noqa: N818  each class is named like its code

from typing import Any, ClassVar

_ZH = {
    "account": "账户",
    "address": "地址",
    "assignment": "作业",
    "blob": "数据块",
    "board": "排行榜",
    "cancel": "取消",
    "course": "课程",
    "database": "数据库",
    "e-mail": "电子邮箱",
    "file": "文件",
    "transcript": "对话记录",
    "login": "登录名",
    "map": "课程图谱",
    "node": "节点",
    "report": "报告",
    "rerun": "重新评测",
    "review": "审阅",
    "starter files": "起始文件",
    "storage": "存储空间",
    "submission": "提交",
    "team": "团队",
    "token": "令牌",
    "user": "用户",
    "version": "版本",
    "queued": "排队中",
    "dispatched": "已派发",
    "running": "评测中",
    "done": "已完成",
    "cancelled": "已取消",
    "grader_error": "评测系统错误",
    "paused": "已暂停",
    "draining": "排空中",
    "set_aside": "已停用",
    "quarantined": "已隔离",
    "content of": "内容：",
    "somebody changed it at the same moment; try again": "有人同时修改了它，请重试",
}
"""Words that errors name things by; a name may follow one of them."""


def _in_chinese(value: Any) -> Any:
    """A detail for the Chinese sentence: a word of the list, alone or before a name; else as it is."""
    if not isinstance(value, str):
        return value
    if value in _ZH:
        return _ZH[value]
    kind, _, name = value.rpartition(" ")
    return f"{_ZH[kind]} {name}" if kind in _ZH else value


class DomainError(Exception):
    """Base of all errors that a caller may see. `en` and `zh` are formatted with the details given."""

    status: ClassVar[int] = 400
    code: ClassVar[str] = "bad_request"
    en: ClassVar[str] = "The request cannot be carried out."
    zh: ClassVar[str] = "无法执行该请求。"
    keeps_writes: ClassVar[bool] = False
    """The transaction is committed although this error is raised (a failed login must be remembered)."""

    def __init__(self, **details: Any) -> None:
        self.details = details
        self.message = self.en.format(**details)
        self.message_zh = self.zh.format(**{key: _in_chinese(value) for key, value in details.items()})
        super().__init__(self.message)

    @property
    def headers(self) -> dict[str, str]:
        """HTTP headers that belong to this error."""
        return {}

    def body(self) -> dict[str, Any]:
        """The one error shape of the API."""
        return error_body(self.code, self.message, self.message_zh, self.details)


def error_body(code: str, message: str, message_zh: str, details: dict[str, Any]) -> dict[str, Any]:
    """The one error shape of the API, for errors that no `DomainError` stands for."""
    return {"error": {"code": code, "message": message, "message_zh": message_zh, "details": details}}


# Who is asking


class NotLoggedIn(DomainError):
    """No valid session or token came with the request."""

    status = 401
    code = "not_logged_in"
    en = "Log in first, or send a valid API token."
    zh = "请先登录，或提供有效的 API 令牌。"

    @property
    def headers(self) -> dict[str, str]:
        """Which scheme a client may use."""
        return {"WWW-Authenticate": "Bearer"}


class LoginFailed(DomainError):
    """Wrong name or password; which of them is not said."""

    status = 401
    code = "login_failed"
    en = "Name or password is wrong."
    zh = "用户名或密码错误。"
    keeps_writes = True


class TooManyLogins(DomainError):
    """Too many failed logins. Detail: retry_after (seconds)."""

    status = 429
    code = "too_many_logins"
    en = "Too many failed logins. Try again in {retry_after} s."
    zh = "登录失败次数过多，请在 {retry_after} 秒后重试。"

    @property
    def headers(self) -> dict[str, str]:
        """When to try again."""
        return {"Retry-After": str(self.details["retry_after"])}


class Forbidden(DomainError):
    """The user's role does not allow this. Details: needs, needs_zh."""

    status = 403
    code = "forbidden"
    en = "This needs the right: {needs}."
    zh = "该操作需要权限：{needs_zh}。"


class CrossSite(DomainError):
    """A request with a session cookie came from another site, or without its form token."""

    status = 403
    code = "cross_site"
    en = "This request did not come from a page of this site. Reload the page and try again."
    zh = "该请求并非来自本站页面。请刷新页面后重试。"


class NotFound(DomainError):
    """Nothing of that name, or nothing that this user may see. Detail: what."""

    status = 404
    code = "not_found"
    en = "There is no such {what}, or you may not see it."
    zh = "不存在该对象（{what}），或您无权查看。"


class Conflict(DomainError):
    """The thing exists already or is in another state. Detail: what."""

    status = 409
    code = "conflict"
    en = "This conflicts with what is there already: {what}."
    zh = "与现有内容冲突：{what}。"


class Invalid(DomainError):
    """A value is not acceptable. Details: field, why, why_zh."""

    status = 422
    code = "invalid"
    en = "{field}: {why}"
    zh = "{field}：{why_zh}"


# Submissions


class BodyTooLarge(DomainError):
    """The request body is over its limit. Detail: limit (bytes)."""

    status = 413
    code = "body_too_large"
    en = "The request is too large; at most {limit} bytes are read."
    zh = "请求过大，最多读取 {limit} 字节。"


class FilesTooLarge(DomainError):
    """The files of a submission are too large together. Details: size, limit (bytes)."""

    status = 413
    code = "files_too_large"
    en = "The files have {size} bytes together; at most {limit} are taken."
    zh = "文件总大小为 {size} 字节，最多允许 {limit} 字节。"


class FilesRefused(DomainError):
    """A submission's files break a rule. Details: rule, why, why_zh."""

    status = 422
    code = "files_refused"
    en = "{why}"
    zh = "{why_zh}"


class NotOpen(DomainError):
    """The assignment does not take submissions yet. Detail: opens (ISO time or null)."""

    status = 403
    code = "not_open"
    en = "This assignment does not take submissions yet (opens: {opens})."
    zh = "该作业尚未开放提交（开放时间：{opens}）。"


class Closed(DomainError):
    """The assignment's closing date has passed. Detail: closed (ISO time)."""

    status = 403
    code = "closed"
    en = "This assignment closed at {closed}."
    zh = "该作业已于 {closed} 截止。"


class NoAttemptsLeft(DomainError):
    """The team used all its gradings. Details: used, limit."""

    status = 429
    code = "no_attempts_left"
    en = "{used} of {limit} gradings are used or under way. Mode `test` does not count."
    zh = "评分次数已用 {used}/{limit}（含进行中）。`test` 模式不计次数。"


class NoDeviceTimeLeft(DomainError):
    """The student's device time of today is used. Details: used, limit, expected (seconds), resets (time)."""

    status = 429
    code = "no_device_time_left"
    en = (
        "{used:g} of your {limit:g} device seconds of today are used or under way in this course, and this "
        "submission may need {expected:g}; more from {resets}."
    )
    zh = (
        "您今日在本课程的设备时间已用 {used:g}/{limit:g} 秒（含进行中），本次提交可能需要 {expected:g} 秒；"
        "{resets} 后恢复。"
    )


class TooManyQueued(DomainError):
    """The team has too many unfinished submissions. Detail: limit."""

    status = 429
    code = "too_many_queued"
    en = "{limit} submissions of your team are still unfinished here; wait for one or cancel one."
    zh = "您的团队在此作业有 {limit} 个未完成的提交；请等待或取消其中之一。"


class WrongState(DomainError):
    """The submission's state does not allow this. Details: action, state."""

    status = 409
    code = "wrong_state"
    en = "A submission in state {state} cannot be changed by: {action}."
    zh = "状态为 {state} 的提交不能执行：{action}。"


# Bundles, nodes


class BundleRefused(DomainError):
    """An assignment bundle cannot be published. Detail: why."""

    status = 422
    code = "bundle_refused"
    en = "The bundle cannot be published: {why}"
    zh = "无法发布该作业包：{why}"


class StaleAttempt(DomainError):
    """The attempt token is unknown, over, or claimed by another worker."""

    status = 409
    code = "stale_attempt"
    en = "This attempt is over or belongs to another worker; drop the job."
    zh = "该评测尝试已结束或属于其他工作节点，请放弃该任务。"


class NodeStopped(DomainError):
    """The node may take no jobs now. Details: node, state."""

    status = 409
    code = "node_stopped"
    en = "The node {node} takes no jobs now ({state}); drop the job."
    zh = "节点 {node} 目前不接受任务（{state}），请放弃该任务。"
    keeps_writes = True


class DigestMismatch(DomainError):
    """An uploaded blob does not have the digest in its address."""

    status = 422
    code = "digest_mismatch"
    en = "The content does not have the digest that the address names."
    zh = "内容与地址中的摘要不一致。"


class Unavailable(DomainError):
    """A part that the server needs does not answer. Detail: what."""

    status = 503
    code = "unavailable"
    en = "Not available at the moment: {what}. Try again shortly."
    zh = "暂时不可用：{what}。请稍后重试。"
