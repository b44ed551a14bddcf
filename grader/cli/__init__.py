"""The `solmark` command, one file per subcommand."""
