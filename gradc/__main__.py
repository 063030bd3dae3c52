"""`python -m gradc`: the `gradc` command, where its script is not on the path."""

from gradc.cli.main import main

if __name__ == "__main__":
    main()
