"""The database: engine, session, tables and their migrations."""
