"""Building blocks of VJP rules: the rule interface, and adjoints that several rules share."""
