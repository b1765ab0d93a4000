"""Whole engines on a small model: what they generate, and where it first went wrong."""
