"""SGLang's DSA backend with a defect, for sglang_sparse_test.py."""

from mla_testbed.engines.sglang.sparse_adapter import SglangSparse


class Sound(SglangSparse):
    """As it is."""


class StaleTable(SglangSparse):
    """A replay keeps the page table of the capture."""

    def replay(self, step, captured):
        table = captured.metadata.metadata.page_table_1
        kept = table.clone()
        real = type(self.backend)._apply_cuda_graph_metadata

        def stale(backend, *args, **kwargs):
            real(backend, *args, **kwargs)
            backend.forward_metadata.page_table_1.copy_(kept)

        self.backend._apply_cuda_graph_metadata = stale.__get__(self.backend)
        try:
            return super().replay(step, captured)
        finally:
            del self.backend._apply_cuda_graph_metadata
