"""Backends that run a candidate, one file each, behind one interface."""
