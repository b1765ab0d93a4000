"""Two commits of a serving engine beside each other (docs/use/engines.md)."""
