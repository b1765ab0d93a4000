"""What mla_capture dumps of a step on arrays of the host, and what `check` and `replay` say."""

from __future__ import annotations

import os
import pathlib
import subprocess
from typing import Any

import mla_testbed as mla
import numpy as np
import pytest
from mla_testbed import mla_capture
from mla_testbed.bundle import PLAN_ARRAYS
from mla_testbed.planning import PLAN_DEFAULTS
from steps import SCALE, make_step

LENGTHS = [100, 70]


class Typed(np.ndarray):
    """Bits of bf16 that say so, as a tensor does."""

    dtype = "torch.bfloat16"  # type: ignore[assignment]


class Engine:
    """A step of two requests that is planned and launched with arrays of its own."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, folder: pathlib.Path,
                 tensors: bool) -> None:
        monkeypatch.setattr(mla_capture, "device_facts", lambda: {"arch": "gfx942", "num_cu": 4})
        self.folder = folder
        self.capture = mla_capture.Capture(str(folder), 1, 0, tensors)
        step = make_step(LENGTHS, 1, 16)
        buffers = mla.plan({"seqlens_qo_indptr": step.qo_indptr, "num_cu": 4, "uni_seqlen_qo": 1,
                            "seqlens_kv_indptr": step.kv_indptr}).buffers
        plan = {name: getattr(buffers, name) for name in PLAN_ARRAYS}
        out = mla.reference(step.q, step.kv, step.qo_indptr, step.kv_indptr, step.indices,
                            step.last, SCALE).out.astype(np.float32)
        self.planner = {**PLAN_DEFAULTS, "max_seqlen_qo": 1, "uni_seqlen_qo": 1, **plan,
                        "seqlens_qo_indptr": step.qo_indptr, "seqlens_kv_indptr": step.kv_indptr,
                        "kv_last_page_lens": step.last}
        self.kernel: dict[str, Any] = {
            **plan, "q": step.q.view(Typed), "kv_buffer": step.kv.view(Typed),
            "o": (out.view(np.uint32) >> 16).astype(np.uint16).view(Typed),
            "qo_indptr": step.qo_indptr, "kv_indptr": step.kv_indptr, "kv_indices": step.indices,
            "kv_last_page_lens": step.last, "max_seqlen_q": 1, "sm_scale": SCALE,
            "work_meta_data": buffers.work_meta_data}

    def plans(self) -> None:
        self.capture.planned(self.planner)

    def launches(self) -> pathlib.Path:
        """The folder of the step's bundle."""
        self.capture.decoded(self.kernel, self.capture.decoding(self.kernel))
        return self.folder / "step-000000"


def replayed(folder: pathlib.Path) -> Any:
    command = os.environ.get("MLA_TESTBED_COMMAND", "mla-testbed")
    if not pathlib.Path(command).exists():
        pytest.skip("needs the command, MLA_TESTBED_COMMAND")
    return subprocess.run([command, "replay", str(folder)], capture_output=True, text=True,
                          check=False)


def test_a_sound_step_is_valid_and_replayed(monkeypatch, tmp_path: pathlib.Path) -> None:
    engine = Engine(monkeypatch, tmp_path, tensors=True)
    engine.plans()
    folder = engine.launches()
    assert mla.check(mla.Bundle.load(folder)) == mla.Answer(True, (), "", "", ())
    found = replayed(folder)
    assert (found.returncode, found.stderr) == (0, ""), found.stdout
    assert "the engine's result: pass" in found.stdout


@pytest.mark.parametrize("value", ["nan", "inf", "-inf"])
@pytest.mark.parametrize(("argument", "key"), [
    ("sm_scale", "softmax_scale"), ("q_scale", "q_scale"), ("kv_scale", "kv_scale")])
def test_a_scale_that_is_not_finite_is_told_at_once_noted_by_check_and_refused_by_replay(
        monkeypatch, tmp_path: pathlib.Path, capsys, argument: str, key: str, value: str) -> None:
    engine = Engine(monkeypatch, tmp_path, tensors=True)
    engine.plans()
    engine.kernel[argument] = np.array([value], np.float32)[0]
    folder = engine.launches()
    note = f"{key} is {value}: no result that it multiplies can be right"
    assert capsys.readouterr().err == f"mla_capture: {note}\n"
    assert mla.check(mla.Bundle.load(folder)) == mla.Answer(True, (), "", "", (note,))
    found = replayed(folder)
    assert found.returncode == 2
    assert f"key '{key}' is \"{value}\"" in found.stderr


def test_a_dump_whose_manifest_has_nan_is_loaded_and_check_names_the_scale(
        monkeypatch, tmp_path: pathlib.Path) -> None:
    engine = Engine(monkeypatch, tmp_path, tensors=True)
    engine.plans()
    manifest = engine.launches() / "manifest.json"
    text = manifest.read_text()
    assert f'"softmax_scale": {SCALE}' in text
    manifest.write_text(text.replace(f'"softmax_scale": {SCALE}', '"softmax_scale": NaN'))
    with pytest.raises(mla.UsageError, match="scalar 'softmax_scale' of bundle 'step 0' is nan"):
        mla.check(mla.Bundle.load(manifest.parent))


@pytest.mark.parametrize("tensors", [False, True])
@pytest.mark.parametrize("name", ["kv_indptr", "qo_indptr", "kv_last_page_lens"])
def test_a_list_that_loses_one_between_planner_and_kernel_is_what_came_after_the_planner(
        monkeypatch, tmp_path: pathlib.Path, name: str, tensors: bool) -> None:
    engine = Engine(monkeypatch, tmp_path, tensors)
    engine.plans()
    engine.kernel[name][-1] -= 1
    answer = mla.check(mla.Bundle.load(engine.launches()))
    assert (answer.valid, answer.at_fault) == (False, "what came after the planner"), str(answer)


def test_the_batch_has_the_pages_that_the_planner_counts_whatever_the_launch_counts(
        monkeypatch, tmp_path: pathlib.Path) -> None:
    engine = Engine(monkeypatch, tmp_path, tensors=True)
    engine.plans()
    engine.kernel["kv_indptr"][-1] -= 1
    arrays = mla.Bundle.load(engine.launches()).arrays
    sizes = {key: arrays[key].size for key in ("kv_indices", "kv_cache_pages", "launch_kv_indices")}
    assert sizes == {"kv_indices": sum(LENGTHS), "kv_cache_pages": sum(LENGTHS),
                     "launch_kv_indices": sum(LENGTHS) - 1}


@pytest.mark.parametrize("page", [-1, 2**30])
def test_a_step_with_a_page_that_the_cache_does_not_have_is_dumped_and_check_names_it(
        monkeypatch, tmp_path: pathlib.Path, page: int) -> None:
    engine = Engine(monkeypatch, tmp_path, tensors=True)
    engine.kernel["kv_indices"][5] = page
    engine.plans()
    bundle = mla.Bundle.load(engine.launches())
    assert page not in bundle.arrays["kv_cache_pages"]
    answer = mla.check(bundle)
    assert not answer.valid
    assert str(page) in str(answer)


@pytest.mark.parametrize("side", ["before", "after"])
def test_what_goes_wrong_in_a_dump_is_said_and_the_call_returns(side: str, capsys) -> None:
    def fails(*_: object) -> None:
        raise IndexError("no page 7")

    watches = {"before": lambda _: None, "after": lambda *_: None, side: fails}
    call = mla_capture.observed(lambda q: 2 * q, watches["after"], watches["before"], "call")
    assert call(21) == 42
    assert capsys.readouterr().err == (
        "mla_capture: fails failed, and a step is not dumped whole: IndexError: no page 7\n")


def test_an_error_of_the_capture_does_not_need_a_stderr(monkeypatch) -> None:
    def fails(*_: object) -> None:
        raise IndexError

    class Closed:
        def write(self, _: str) -> int:
            raise BrokenPipeError

    call = mla_capture.observed(lambda q: 2 * q, fails, None, "call")
    for stderr in (Closed(), None):
        monkeypatch.setattr("sys.stderr", stderr)
        assert call(21) == 42


def test_a_dump_that_cannot_be_written_again_stays_as_it_was(
        monkeypatch, tmp_path: pathlib.Path) -> None:
    engine = Engine(monkeypatch, tmp_path, tensors=True)
    engine.plans()

    def full(file: Any, _: object) -> None:
        if isinstance(file, str):
            pathlib.Path(file).write_bytes(b"")
        raise OSError("no space left on device")

    monkeypatch.setattr("numpy.save", full)
    with pytest.raises(OSError, match="no space left"):
        engine.launches()
    assert mla.check(mla.Bundle.load(tmp_path / "step-000000")).valid
