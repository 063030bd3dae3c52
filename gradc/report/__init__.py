"""The report: one page that shows what gradc made of a graph, and how well."""
