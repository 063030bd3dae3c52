"""Whether results are right: sample inputs, the numpy reference, errors against it."""
