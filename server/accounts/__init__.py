"""Accounts: people, logins, sessions, tokens."""
