"""Runs the code blocks of a Markdown page: what a page shows is what happens.

A page has one working directory, `examples/` in it, and its blocks run in the order of the page.

python    runs, in one namespace per page
sh        runs by `bash -euo pipefail`
console   lines `$ command`, each with what it prints on stdout and stderr, compared line by line. A line
          `...` stands for any lines, `...` within a line for any characters. A command that fails is
          followed by `$ echo $?`
others    say by a comment what they are

Comments in front of a block:

<!-- file: NAME -->                the block is written to NAME; a file of the repository must contain it
<!-- output: COMMAND -->           the command prints these lines, one after another
<!-- printed: -->                  the python block before printed this, and nothing else
<!-- insert: FILE after: LINE -->  the block is put after that line of the file
<!-- setup: COMMAND -->            runs before the block, for files that a reader has and the page has not
<!-- needs: MODULE -->             the block is left out where the module (or program) is missing
<!-- command: NAME -->             .ci/run runs the block in a fresh environment; here its gradc commands run

Commands find the folder of the repository in $REPOSITORY (tests/docs/files has what a setup may copy), and an
empty folder on Python's path in $SITE. Pages in docs/extending work in a copy of the repository: a `file`
adds to it.
"""

from support.pages.markdown import Block, blocks_of, parsed
from support.pages.matching import Mismatch
from support.pages.run import ROOT, Page, pages

__all__ = ["ROOT", "Block", "Mismatch", "Page", "blocks_of", "pages", "parsed"]
