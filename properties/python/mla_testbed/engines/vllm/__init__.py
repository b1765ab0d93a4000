"""vLLM's AITER MLA backend, installed and unmodified."""
