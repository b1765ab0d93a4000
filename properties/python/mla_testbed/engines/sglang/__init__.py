"""SGLang's AiterAttnBackend, unmodified, under the judge (docs/engines.md)."""
