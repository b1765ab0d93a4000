"""MLA decode whose contexts are dealt out over several ranks (decode context parallelism)."""
