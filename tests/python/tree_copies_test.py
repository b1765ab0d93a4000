"""A tree's process lets copies of itself answer."""

import signal
import subprocess
import sys

import pytest
from mla_testbed.aiter.tree import wire
from mla_testbed.aiter.tree.wire import Message

PROGRAM = """
import os, sys
from mla_testbed.aiter.tree import __main__ as served
from mla_testbed.aiter.tree.wire import Message
asked = []

def count(question):
    asked.append(question)
    return Message({"count": len(asked)})

calls = {"count": count, "abort": lambda _: os.abort(), "leave": lambda _: os._exit(7)}
sys.exit(served.serve_by_copies(os.fdopen(os.dup(1), "wb"), calls, None))
"""


#: What an import of AITER may do, and a call: torch over enough elements for several threads.
BUSY = """
import torch
from mla_testbed.aiter.tree import __main__ as served

def work(_=None):
    torch.set_num_threads(2)
    return {"sum": float(torch.ones(1 << 22).exp().log().sum())}

before = torch.get_num_threads()
with served.one_thread():
    assert torch.get_num_threads() == 1
    torch.ones(1 << 22).exp()
assert torch.get_num_threads() == before
import os, sys
from mla_testbed.aiter.tree.wire import Message
calls = {"work": lambda asked: Message(work())}
sys.exit(served.serve_by_copies(os.fdopen(os.dup(1), "wb"), calls, None))
"""


def answers(*calls, program=PROGRAM):
    """The heads of the answers, and how the process ends when its input does."""
    process = subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    heads = []
    for call in calls:
        wire.write(process.stdin, Message({"call": call}))
        answer = wire.read(process.stdout)
        heads.append(answer and answer.head)
    process.stdin.close()
    return heads, process.wait(60)


def test_after_an_abort_a_copy_answers_that_was_asked_nothing_and_the_end_of_input_ends_it():
    assert answers("count", "count", "abort", "count", "abort", "count") == ([
        {"count": 1}, {"count": 2}, {"ended": signal.SIGABRT}, {"count": 1},
        {"ended": signal.SIGABRT}, {"count": 1}], 0)


def test_a_copy_that_leaves_ends_the_process_with_its_code():
    assert answers("count", "leave") == ([{"count": 1}, None], 7)


def test_threads_of_torch_work_in_a_copy_though_an_import_used_torch():
    pytest.importorskip("torch", reason="an import of AITER needs torch")
    assert answers("work", program=BUSY) == ([{"sum": float(1 << 22)}], 0)
