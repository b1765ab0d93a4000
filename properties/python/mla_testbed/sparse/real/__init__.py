"""The real kernels of the chain, from checkouts, on an emulated GPU (docs/use/sparse.md)."""
