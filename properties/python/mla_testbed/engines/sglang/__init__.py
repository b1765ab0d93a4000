"""SGLang's AiterAttnBackend, unmodified, under the judge (docs/use/engines.md)."""
