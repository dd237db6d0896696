"""Running things: configurations, jobs, and where their results are kept."""
