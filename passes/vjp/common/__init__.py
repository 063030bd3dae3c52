"""What rules are written with: an op as a rule is told of it, and the adjoints of what many ops do."""
