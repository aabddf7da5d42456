"""The `tamis` command, and the local stack."""
