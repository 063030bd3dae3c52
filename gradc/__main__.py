"""`python -m gradc`: the `gradc` command, where its script is not on the path."""

import sys

from gradc.cli.scripts import gradc

if __name__ == "__main__":
    sys.exit(gradc())
