"""What an answer about a commit of an engine depends on beside the commit."""

import dataclasses
import subprocess

import pytest
from mla_testbed.aiter.own import cache
from mla_testbed.engines.client import Setting
from mla_testbed.engines.compare.sides import same_for
from mla_testbed.engines.compare.trees import Installed
from mla_testbed.errors import LibraryError

HERE = Installed("/site/vllm", (("torch", "2.13.0"),))
ASKED = Setting("vllm")


class Clone:
    """Of AITER, with one commit."""

    def __init__(self, place):
        self.place = place
        self.git("init")
        self.write("1")
        self.commit()

    def git(self, *words):
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", "-C", self.place,
                        *words], check=True, capture_output=True)

    def write(self, text, name="mla.py"):
        (self.place / name).write_text(text)

    def commit(self):
        self.git("add", "mla.py")
        self.git("commit", "-m", "one", "--allow-empty")


@pytest.fixture
def clone(tmp_path, monkeypatch):
    monkeypatch.setattr(cache, "stand_in", lambda: "")
    monkeypatch.setenv("AITER_SRC", str(tmp_path))
    return Clone(tmp_path)


def test_each_edit_and_commit_of_aiter_is_another_answer_and_an_edit_taken_back_is_none(clone):
    first = same_for(ASKED, HERE)
    clone.write("3")
    otherwise = same_for(ASKED, HERE)
    clone.write("2")
    edited = same_for(ASKED, HERE)
    clone.write("1")
    assert same_for(ASKED, HERE) == first
    clone.write("2")
    clone.commit()
    committed = same_for(ASKED, HERE)
    assert len({repr(one) for one in (first, otherwise, edited, committed)}) == 4
    assert first is not None


def test_nothing_is_kept_where_git_does_not_know_what_is_in_aiter(clone, tmp_path, monkeypatch):
    clone.write("1", "new.py")
    assert same_for(ASKED, HERE) is None
    monkeypatch.setenv("AITER_SRC", str(tmp_path / "none"))
    assert same_for(ASKED, HERE) is None


def test_aiter_is_no_part_of_an_answer_without_it(clone):
    without = dataclasses.replace(ASKED, without_aiter=True)
    first = same_for(without, HERE)
    clone.write("1", "new.py")
    assert same_for(without, HERE) == first
    assert first is not None


def test_packages_variables_and_settings_are_part_of_an_answer(clone, monkeypatch):
    told = [same_for(ASKED, HERE), same_for(dataclasses.replace(ASKED, kind="sparse"), HERE),
            same_for(dataclasses.replace(ASKED, options=("block=16",)), HERE),
            same_for(ASKED, dataclasses.replace(HERE, packages=(("torch", "2.14.0"),)))]
    monkeypatch.setenv("VLLM_ROCM_USE_AITER", "0")
    told.append(same_for(ASKED, HERE))
    assert len({repr(one) for one in told}) == 5


def test_nothing_is_kept_in_an_installation_that_cannot_say_what_compiles(clone, monkeypatch):
    def missing():
        raise LibraryError("no stand-in")

    monkeypatch.setattr(cache, "stand_in", missing)
    assert same_for(ASKED, HERE) is None
