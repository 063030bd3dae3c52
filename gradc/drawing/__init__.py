"""Pictures of graphs, and their display in notebooks."""
