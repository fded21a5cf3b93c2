"""Writes the pages and tables that show results."""
