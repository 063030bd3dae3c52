"""What everything else may ask: arguments of functions, the machine, what is installed."""
