"""Reports on graphs and compilations: strategies, costs, errors by op, times, the installation."""
