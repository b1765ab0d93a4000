#!/usr/bin/env python3
"""What the command does at a terminal: colours, NO_COLOR, and a progress line that fits.

    pty_test.py build/.../mla-testbed

Exit: 0 as said, 1 otherwise.
"""
import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios


def at_terminal(command, columns, **environment):
    """What a terminal of so many columns gets, stdout and stderr together, and the exit code."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    base = {k: v for k, v in os.environ.items() if k != "NO_COLOR"}
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs,
                               env={**base, "TERM": "xterm", **environment})
    os.close(theirs)
    text = b""
    while True:
        try:
            piece = os.read(ours, 65536)
        except OSError:  # Linux says so when the last writer is gone
            break
        if not piece:
            break
        text += piece
    os.close(ours)
    return text.decode(), process.wait()


def drawn(text):
    """The progress lines: from a carriage return to the sequence that clears the rest."""
    return [line for line in re.findall(r"\r([^\r\n]*)\x1b\[K", text) if line]


def main():
    testbed = sys.argv[1]
    run = [testbed, "run", "--for", "3s", "--property", "P04"]
    wrong = []

    def expect(what, holds):
        if not holds:
            wrong.append(what)

    for columns in (120, 50, 20):
        text, code = at_terminal(run, columns)
        lines = drawn(text)
        expect(f"{columns} columns: exit 0 or 4, not {code}", code in (0, 4))
        expect(f"{columns} columns: several progress lines, not {len(lines)}", len(lines) > 3)
        longest = max(map(len, lines), default=0)
        expect(f"{columns} columns: a line of {longest}", longest < columns)
        if columns == 120:
            expect("the bar, rate and remaining time in a wide terminal",
                   any(re.search(r"^\[=*>? *\] .* cases  \d s, .*, \d s left$", line) for line in lines))
        if columns == 50:
            expect("no bar beside a rate in a narrow terminal",
                   not any("[" in line and "left" in line for line in lines))
    short = [testbed, "run", "--cases", "3", "--property", "P04", "--no-progress"]
    expect("colours at a terminal", "\x1b[3" in at_terminal(short, 80)[0])
    expect("no colours with NO_COLOR", "\x1b[3" not in at_terminal(short, 80, NO_COLOR="1")[0])
    expect("no colours at TERM=dumb", "\x1b[3" not in at_terminal(short, 80, TERM="dumb")[0])
    expect("no progress with --no-progress", not drawn(at_terminal([*run, "--no-progress"], 80)[0]))
    text, code = at_terminal([testbed, "plants", "SEED-qo-arange", "--for", "5s"], 80)
    expect(f"the plant is caught at a terminal: {code}, {text[-300:]}", code == 0 and "caught" in text)
    print(*(f"FAILED: expected {what}" for what in wrong), sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
