"""Developer programs: generated documents, calibration. Not in the wheel."""
