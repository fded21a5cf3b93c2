"""The report: one page that shows how good the answers are, and works without any network."""
