"""One tree of AITER as the command line asks it: its size query, its planner, its decode."""
