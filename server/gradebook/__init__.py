"""The gradebook: everybody's points of every assignment, as a page, over the API, and as CSV."""
