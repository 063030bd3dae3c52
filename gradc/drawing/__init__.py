"""Pictures of graphs, and what notebooks show."""
