#!/usr/bin/env python3
"""The Markdown of .github/actions/judge/summary.py: never longer than a page, foreign text is text.

Exit: 0 that holds, 1 it does not.
"""
import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / ".github/actions/judge"))
import summary  # noqa: E402

HOSTILE = ("<script>alert(1)</script> | `x` **b** [a](javascript:x) ![i](http://e) @user #1 "
           "www.example.org user@example.org\n\n# title\n```\n::error::x\r\x1b[31m \u202e $x$ &lt;")
MARKUP = ("<script", "**b**", "`x`", "](", "![", "@user", " #1", "www.", "user@", "\n# title", "\x1b",
          "\u202e", "$x$", "http:", "\n::error", "\r")


def failure(text):
    return {"property": "P08", "also": [{"property": "P05"}], "message": text,
            "case": "mla1:1q1s17", "block": f"FAIL P08 x\nREPRO: mla-testbed replay 'x'\n  {text}"}


def backend(text, failures=0, tallies=2):
    tally = {"id": "P08", "name": "split", "ran": 9, "skipped": 1, "failed": failures,
             "verdict": "fail", "remark": text}
    good = {**tally, "id": "P05", "verdict": "pass", "failed": 0, "remark": ""}
    return {"name": text, "cases": 10, "refused": 1, "seconds": 1.25, "wanted": 20,
            "interrupted": failures > 0, "gave_up": False, "first_too_large": text,
            "ledger": [{"verdict": "unexpected-pass", "id": text, "message": text}] * 5,
            "properties": [good] + [tally] * (tallies - 1), "failures": [failure(text)] * failures}


def run(*backends):
    return {"format": "mla-testbed run 1", "seed": 7, "verdict": "a property failed",
            "backends": list(backends)}


def check(plans):
    return {"format": "mla-testbed check 1", "plans": plans}


def broken(text):
    return {"name": text, "checked": True, "violations": [{"rule": text, "what": text}] * 3,
            "at_fault": text}


class Page(unittest.TestCase):
    def test_much_has_at_most_sixty_lines_and_what_is_left_out_is_counted(self):
        lines = summary.summary(run(*[backend(HOSTILE, 200, 41)] * 6), 1)
        self.assertLessEqual("\n".join(lines).count("\n") + 1, summary.LINES)
        for left in ("and 2 more backends", "and 232 more of them", "and 39 more remarks",
                     "and 1195 more failures: the reports have them"):
            self.assertIn(left, lines)

    def test_a_check_of_much_has_at_most_sixty_lines(self):
        lines = summary.summary(check([broken(HOSTILE)] * 200), 1)
        self.assertLessEqual("\n".join(lines).count("\n") + 1, summary.LINES)
        self.assertIn("and 160 more plans", lines)
        self.assertIn("0 of 200 plans are valid.", lines)

    def test_foreign_text_is_no_markup_link_mention_command_or_second_line(self):
        for report in (run(backend(HOSTILE, 2)), check([broken(HOSTILE)])):
            text = "\n".join(summary.summary(report, 1))
            for what in MARKUP:
                self.assertNotIn(what, text.replace("**FAIL", ""), what)
        self.assertEqual(summary.markdown("a|b"), "a&#124;b")
        self.assertEqual(summary.markdown("&lt;"), "&#38;lt;")
        self.assertEqual(summary.markdown("@a"), "&#64;&#8288;a")
        self.assertEqual(summary.markdown("#1"), "&#35;&#8288;1")

    def test_every_table_begins_after_an_empty_line(self):
        lines = summary.summary(run(*[backend("x", 200, 41)] * 6), 1)
        heads = [i - 1 for i, line in enumerate(lines) if line.startswith("|---")]
        self.assertEqual([lines[i - 1] for i in heads], ["", ""])

    def test_a_failure_has_its_properties_message_and_command(self):
        lines = summary.summary(run(backend("cpu", 1)), 1)
        self.assertEqual(lines[0], "### mla-testbed: a property failed (exit 1)")
        at = lines.index("**FAIL P08,P05** on cpu: cpu")
        self.assertEqual(lines[at + 1:at + 4], ["```text", "mla-testbed replay 'x'", "```"])
        self.assertIn("| cpu | 10 | 1 | 7 | 1.2 |", lines)
        self.assertIn("| P08 split | cpu | fail | 9 | 1 | 1 | cpu |", lines)
        self.assertIn("1 passed, 0 are not applicable.", lines)
        self.assertTrue(lines[-1].startswith("Exit codes: 0 all held, 1 a property failed"))

    def test_a_run_that_held_has_no_table_of_properties(self):
        good = {**backend("cpu", 0, 1), "ledger": [], "first_too_large": ""}
        lines = summary.summary({**run(good), "verdict": "all held"}, 0)
        self.assertEqual(lines[0], "### mla-testbed: all held (exit 0)")
        self.assertFalse([line for line in lines if "property |" in line or "FAIL" in line])

    def test_what_failed_comes_first_and_one_row_that_is_left_out_is_counted(self):
        one = backend("cpu", 1, 9)
        one["properties"][1] = {**one["properties"][1], "verdict": "known-fail", "name": "known"}
        one["properties"] += [one["properties"][2]]
        lines = summary.summary(run(one), 1)
        self.assertFalse([line for line in lines if "P08 known" in line])
        self.assertIn("and 1 more of them", lines)

    def test_a_known_failure_is_no_remark(self):
        one = {**backend("cpu", 1), "first_too_large": ""}
        one["ledger"] = [{"verdict": "known-fail", "id": "K1", "message": ""}]
        self.assertNotIn("K1", "\n".join(summary.summary(run(one), 1)))

    def test_a_fence_is_longer_than_any_in_its_command(self):
        self.assertEqual(summary.block("a ```` b")[0], "`````text")
        self.assertIn("too long", summary.block("x" * 5000)[0])

    def test_long_text_is_cut(self):
        self.assertEqual(summary.markdown("abcdef", 3), "abc…")
        self.assertEqual(summary.markdown("abc", 3), "abc")

    def test_what_is_no_report_is_refused(self):
        for report in ({}, {"format": "x"}, {"format": "mla-testbed run 1"}, {**run(), "backends": 5},
                       check([{}]), []):
            with self.assertRaises((ValueError, KeyError, TypeError, AttributeError)):
                summary.summary(report, 0)


if __name__ == "__main__":
    unittest.main()
