"""The only code of ours inside the sandbox: standard library and torch."""
