"""A tree's process lets copies of itself answer."""

import signal
import subprocess
import sys

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
sys.exit(served._serve_by_copies(os.fdopen(os.dup(1), "wb"), calls, None))
"""


def answers(*calls):
    """The heads of the answers, and how the process ends when its input does."""
    process = subprocess.Popen([sys.executable, "-c", PROGRAM], stdin=subprocess.PIPE,
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
