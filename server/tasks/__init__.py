"""The server's side of the queue: publish after commit, store reports, dispatch, sweep, beat."""
