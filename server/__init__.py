"""Solmark's server: accounts, courses, submissions, queue, boards and pages."""
