"""One tree of AITER as the command line asks it: its size queries, planners, decode and prefill."""
