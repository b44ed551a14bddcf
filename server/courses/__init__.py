"""Courses: members, teams, assignments and their published versions."""
