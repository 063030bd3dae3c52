"""`gradc report`: collects everything about the compilation of one graph and shows it on one page."""
