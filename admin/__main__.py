"""`python -m tamis.admin` is the `tamis` command."""

from tamis.admin.cli import main

main()
