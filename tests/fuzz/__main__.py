"""`python tests/fuzz`: see README.md here."""

import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parents[1])
    from fuzz.command import main

    main()
