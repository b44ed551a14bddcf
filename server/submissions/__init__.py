"""Submissions: handing in, watching, cancelling."""
