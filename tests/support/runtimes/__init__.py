"""The runtimes that compiled models are held against the reference on: one thin runner each.

A runner is a class with a `name`, `missing()`, which says what is not installed and how to get it, and
`run(model, feeds)`, the outputs of one model for each set of feeds.
"""
