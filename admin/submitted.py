"""The program that `spark-submit` is given: the `tamis` command, on the Spark that it brings."""

import sys

if __name__ == "__main__":
    sys.path.pop(0)  # this folder, whose modules are not to be taken for others of their names
    from tamis.admin.cli import main

    main()
