"""Generated parts of README.md and docs/, from code and from files of `gradc bench`.

python -m tools.documents            write them
python -m tools.documents --check    fail if one is stale

pages         the parts of each page
op_page       formula, ports, attributes, constraints and strategies of a source op
mixed         the ops of ONNX that gradc has, and the capabilities of each source format
strategies    every strategy: its idea and its refusals
commands      the command line, from click and argparse
prose         docstrings as Markdown
speed         results in the files of docs/speed
plots         `python -m tools.documents.plots`: measured strategies as charts; needs matplotlib
"""
