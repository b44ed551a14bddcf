"""`solmark check`: does an assignment hold what it promises? Each module answers one question about it."""
