"""The phases of a session, one module each, in the order build, public, timed, hidden."""
