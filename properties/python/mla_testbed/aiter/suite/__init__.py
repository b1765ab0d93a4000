"""AITER's own op_tests as a suite: see mla_testbed.aiter_suite."""
