"""What can be said of a compilation: choices, prices, errors by op, times, the installation."""
