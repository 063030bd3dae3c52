"""The parts of README.md and docs/ that are made from code and from files that `gradc bench` wrote.

python -m gradc.upkeep.documents            write them anew
python -m gradc.upkeep.documents --check    fail if one is stale

pages         which page has which parts
op_page       the formula, ports, attributes, constraints and strategies of a source op
mixed         the ops of ONNX that gradc has, and what each form of source can say
strategies    every strategy: its idea and what it refuses
commands      the command line, from click and argparse
prose         docstrings as Markdown
speed         what the files of docs/speed say
plots         `python -m gradc.upkeep.documents.plots`: the measured strategies as pictures; needs matplotlib
"""
