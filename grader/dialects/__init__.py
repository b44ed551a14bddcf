"""Languages inside Python that compile their kernels themselves: one small file each, and this list."""

from collections.abc import Mapping

from grader.contract import Language
from grader.dialects import cute, tilelang, triton
from grader.dialects.dialect import Dialect

DIALECTS: Mapping[Language, Dialect] = {
    dialect.language: dialect for dialect in (triton.DIALECT, tilelang.DIALECT, cute.DIALECT)
}
"""In the order in which a file that imports several of them is taken for one."""
