"""The only code of ours inside the sandbox: takes a submission over two pipes and calls it.

Nothing here is trusted. Whatever runs beside student code can be changed by it, so the judge checks all that
comes back and this package only has to be right for honest code. Standard library and torch only.
"""
