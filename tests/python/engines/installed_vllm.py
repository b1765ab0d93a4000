"""What tests of an installed, unmodified vLLM share.

Importing this skips a test unless MLA_TESTBED_VLLM names a virtual environment with vLLM and
AITER_SRC AITER's sources.
"""

import functools

import installed

installed.needed(("MLA_TESTBED_VLLM", "an environment with vLLM (docs/use/engines.md)"))
run = functools.partial(installed.run, "vllm")
planted = functools.partial(installed.planted, "vllm")
