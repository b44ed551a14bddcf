"""What is wrong with a value that a request carries, in both languages: pydantic speaks English alone."""

from collections.abc import Mapping, Sequence
from typing import Any

from server.errors import error_body

MOST = 20
"""Faults named in one answer."""
_CHARS = 500
_ZH: Mapping[str, str] = {
    "bool_parsing": "须为 true 或 false",
    "bool_type": "须为 true 或 false",
    "bytes_type": "须为字节",
    "datetime_from_date_parsing": "须为带时区的时间，如 2026-11-30T23:59:00+08:00",
    "datetime_parsing": "须为带时区的时间，如 2026-11-30T23:59:00+08:00",
    "datetime_type": "须为带时区的时间，如 2026-11-30T23:59:00+08:00",
    "dict_type": "须为对象",
    "enum": "须为 {expected} 之一",
    "extra_forbidden": "没有这个字段",
    "finite_number": "须为有限的数",
    "float_parsing": "须为数",
    "float_type": "须为数",
    "greater_than": "须大于 {gt}",
    "greater_than_equal": "不得小于 {ge}",
    "int_from_float": "须为整数",
    "int_parsing": "须为整数",
    "int_parsing_size": "整数过大",
    "int_type": "须为整数",
    "json_invalid": "不是有效的 JSON",
    "json_type": "不是有效的 JSON",
    "less_than": "须小于 {lt}",
    "less_than_equal": "不得大于 {le}",
    "list_type": "须为列表",
    "literal_error": "须为 {expected} 之一",
    "mapping_type": "须为对象",
    "missing": "缺少这个字段",
    "model_attributes_type": "须为对象",
    "model_type": "须为对象",
    "moment": "须为 {first} 年至 {last} 年之间的时间",
    "plain_text": "须为不含 NUL 和孤立代理字符的文本",
    "recursion_loop": "嵌套过深",
    "string_pattern_mismatch": "格式须符合 {pattern}",
    "string_too_long": "最多 {max_length} 个字符",
    "string_too_short": "至少 {min_length} 个字符",
    "string_type": "须为文本",
    "string_unicode": "须为 UTF-8 文本",
    "timezone_aware": "须带时区，如 2026-11-30T23:59:00+08:00",
    "too_long": "最多 {max_length} 项",
    "too_short": "至少 {min_length} 项",
    "tuple_type": "须为列表",
}
"""By pydantic's type of the fault, filled with its context."""
_OTHER_ZH = "值无效"


def body(faults: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The error shape for faults as pydantic lists them. Values are not repeated: one may be a password."""
    fields = [
        {
            "field": _readable(".".join(map(str, fault["loc"]))),
            "message": _readable(str(fault["msg"])),
            "message_zh": _readable(_chinese(fault)),
        }
        for fault in faults[:MOST]
    ]
    first = fields[0] if fields else {"field": "body", "message": "invalid", "message_zh": _OTHER_ZH}
    return error_body(
        "invalid",
        f"{first['field']}: {first['message']}",
        f"{first['field']}：{first['message_zh']}",
        {"fields": fields},
    )


def _chinese(fault: Mapping[str, Any]) -> str:
    text = _ZH.get(str(fault.get("type")), _OTHER_ZH)
    context = {key: _joined(value) for key, value in fault.get("ctx", {}).items()}
    try:
        return text.format_map(context)
    except (KeyError, IndexError, ValueError):
        return _OTHER_ZH


def _joined(value: Any) -> Any:
    """Pydantic joins what may be chosen with an English word."""
    return value.replace(" or ", "、").replace(", ", "、") if isinstance(value, str) else value


def _readable(text: str) -> str:
    """The text with what no answer can carry replaced: a key that was sent may hold anything."""
    return text.encode("utf-8", "replace").decode()[:_CHARS]
