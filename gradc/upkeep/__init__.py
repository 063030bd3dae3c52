"""What only developers of gradc run: generated documents, calibration. Not in the wheel."""
