"""`gradc report`: all that gradc does with one graph, collected, and shown on one page."""
