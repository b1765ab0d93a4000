"""What a bundle may hold: arrays by known names and as kernels read them, scalars that JSON has."""

from __future__ import annotations

import contextlib
import html
import json
import os
import pathlib
import re
import resource
import signal
from collections.abc import Iterator
from typing import Any

import mla_testbed as mla
import numpy as np
import pytest
from mla_testbed import mla_bundle

CASE = "mla1:2q1s900;heads=16;cu=4"


def bundle_with(key: str, array: Any) -> mla.Bundle:
    bundle = mla.plan(CASE)
    bundle.arrays[key] = array
    return bundle


@pytest.fixture
def folder(tmp_path: pathlib.Path) -> pathlib.Path:
    """Deep enough that a name may lead out of it and still into this test's own folder."""
    return tmp_path / "a" / "b" / "bundle"


NO_NAMES = ["../../OUT", "..", ".", "", "a/b", "a\\b", "a\0b"]


@pytest.mark.parametrize("key", NO_NAMES)
def test_load_refuses_an_array_whose_key_is_no_plain_name(folder: pathlib.Path, key: str) -> None:
    mla.plan(CASE).save(folder)
    manifest = json.loads((folder / "manifest.json").read_text())
    np.save(folder / "q.npy", np.zeros(1, np.uint16))
    manifest["arrays"][key] = {"file": "q.npy"}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(mla.UsageError) as caught:
        mla.Bundle.load(folder)
    assert f"has an array {key!r}; expected the name of a file of its folder" in str(caught.value)


@pytest.mark.parametrize("key", NO_NAMES)
def test_nothing_is_written_where_a_key_is_no_plain_name(folder: pathlib.Path, key: str) -> None:
    with pytest.raises(mla.UsageError, match="array '.*' of bundle .* has an unknown name"):
        bundle_with(key, np.zeros(1, np.int32)).save(folder)
    with pytest.raises(ValueError, match="has a name that leads out of its folder"):
        mla_bundle.write_bundle(str(folder), "name", {}, {key: np.zeros(1, np.int32)})
    assert not list(folder.parents[2].rglob("*.*"))


@pytest.mark.parametrize("dtype", [np.int32, np.uint16, np.int64, np.float64])
def test_check_and_save_refuse_an_array_of_unknown_name_whatever_its_dtype(
        folder: pathlib.Path, dtype: Any) -> None:
    bundle = bundle_with("kv_indics", np.zeros(1800, dtype))
    for call in (mla.check, lambda b: b.save(folder)):
        with pytest.raises(mla.UsageError, match="array 'kv_indics' of bundle .* has an unknown "
                                                 "name; did you mean 'kv_indices'"):
            call(bundle)
    assert not folder.exists()


@pytest.mark.parametrize("key", ["kv_last_page_lens", "work_info", "launch_seqlens_kv_indptr"])
@pytest.mark.parametrize("dtype", ["uint16", "uint32", "uint64", "int16", "int64", ">i4", "float64",
                                   "bool"])
def test_check_refuses_a_list_of_other_elements_than_int32_by_name_and_dtype(
        key: str, dtype: str) -> None:
    bundle = mla.plan(CASE)
    array = bundle.arrays[key.removeprefix("launch_")]
    bundle.arrays[key] = array
    assert mla.check(bundle).valid
    bundle.arrays[key] = array.astype(dtype)
    with pytest.raises(mla.UsageError, match=f"array '{key}' of bundle .* is of {dtype}: kernels "
                                             "read int32"):
        mla.check(bundle)


def test_tensors_of_any_dtype_stay_as_they_are(folder: pathlib.Path) -> None:
    bundle = mla.plan(CASE)
    tensors = {"q": np.zeros(1, np.uint8), "kv_cache_pages": np.zeros(1, np.int64),
               "kv_cache": np.zeros(1, np.uint16), "out": np.zeros(1, np.uint16),
               "lse": np.zeros(1, np.float32)}
    bundle.arrays |= tensors
    bundle.save(folder)
    again = mla.Bundle.load(folder).arrays
    assert {key: again[key].dtype for key in tensors} == {
        key: array.dtype for key, array in tensors.items()}


@pytest.mark.parametrize("dtype", ["float64", "bool"])
def test_save_refuses_a_list_that_has_no_integers_by_name(
        folder: pathlib.Path, dtype: str) -> None:
    with pytest.raises(mla.UsageError, match=f"array 'kv_indices' .* {dtype}; expected integers"):
        bundle_with("kv_indices", np.zeros(1800, dtype)).save(folder)
    assert not folder.exists()


@pytest.mark.parametrize("kind", ["list", "Tensor", "NoneType"])
def test_what_is_no_array_of_numpy_is_refused_by_its_name(folder: pathlib.Path, kind: str) -> None:
    value: Any = {"list": [1, 2], "NoneType": None}.get(kind)
    if kind == "Tensor":
        value = pytest.importorskip("torch").ones(2, dtype=pytest.importorskip("torch").int32)
    bundle = bundle_with("work_indptr", value)
    for call in (mla.check, lambda b: b.save(folder), lambda b: b.buffers):
        with pytest.raises(mla.UsageError, match=f"array 'work_indptr' of bundle .* is of type "
                                                 f"{kind}; expected an array of numpy"):
            call(bundle)


def test_check_refuses_what_is_no_bundle() -> None:
    for value in (None, "step-000000", {}):
        with pytest.raises(mla.UsageError, match=r"check\(\) got .*; expected a Bundle"):
            mla.check(value)


@pytest.mark.parametrize(("scalars", "shown"), [
    ({"softmax_scale": float("nan")}, "'softmax_scale' of bundle .* is nan"),
    ({"kv_scale": np.float32("inf")}, r"'kv_scale' of bundle .* is .*inf"),
    ({"launch_addresses": {"work_info": [1, -np.inf]}}, "'launch_addresses' of bundle .* -inf"),
])
def test_check_and_save_refuse_a_scalar_that_is_not_finite_by_name_and_value(
        folder: pathlib.Path, scalars: dict[str, Any], shown: str) -> None:
    bundle = mla.plan(CASE)
    bundle.scalars |= scalars
    for call in (mla.check, lambda b: b.save(folder)):
        with pytest.raises(mla.UsageError, match=f"scalar {shown}.*; expected numbers that are fi"):
            call(bundle)
    assert not folder.exists()


@pytest.fixture
def in_time() -> Iterator[None]:
    """Ends a wait for ever."""

    def end(*_: Any) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, end)
    signal.alarm(20)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.usefixtures("in_time")
@pytest.mark.parametrize("name", ["manifest.json", "work_indptr.npy"])
@pytest.mark.parametrize("kind", ["pipe", "device"])
def test_load_refuses_what_is_no_regular_file(folder: pathlib.Path, name: str, kind: str) -> None:
    mla.plan(CASE).save(folder)
    (folder / name).unlink()
    if kind == "pipe":
        os.mkfifo(folder / name)
    else:
        (folder / name).symlink_to("/dev/null")
    with pytest.raises(mla.UsageError, match=f"{name}' is not a regular file"):
        mla.Bundle.load(folder)


@contextlib.contextmanager
def small_files() -> Iterator[None]:
    """Stands for a disk that has room for some of the files of a bundle.

    It ends within the test: pytest's own output may be a file as well.
    """
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2048, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_bundle_stays_if_the_disk_has_no_room_for_another(folder: pathlib.Path) -> None:
    mla.plan("mla1:1q1s17;cu=1").save(folder)
    before = {path: path.read_bytes() for path in folder.iterdir()}
    large = mla.plan("mla1:200q1s300;cu=304")
    with small_files(), pytest.raises(mla.FaultError, match="the bundle .* cannot be written: "):
        large.save(folder)
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


def test_a_mask_is_refused_by_name(folder: pathlib.Path) -> None:
    bundle = mla.plan(CASE)
    masked = np.ma.masked_equal(bundle.arrays["work_indptr"], 0)
    bundle = bundle_with("work_indptr", masked)
    for call in (mla.check, lambda b: b.save(folder), lambda b: b.buffers):
        with pytest.raises(mla.TensorError, match="array 'work_indptr' of bundle .*: expected an "
                                                  "array without a mask"):
            call(bundle)


def test_load_with_changed_takes_an_edited_array_and_save_gives_it_a_new_sum(
        folder: pathlib.Path) -> None:
    mla.plan(CASE).save(folder)
    path = folder / "work_info.npy"
    words = np.load(path)
    words[4] += 1
    np.save(path, words)
    with pytest.raises(mla.UsageError, match="was changed after the bundle was written"):
        mla.Bundle.load(folder)
    bundle = mla.Bundle.load(folder, changed=True)
    assert bundle.arrays["work_info"].tolist() == words.tolist()
    bundle.save(folder)
    assert mla.Bundle.load(folder).arrays["work_info"].tolist() == words.tolist()


def test_a_bundle_prints_as_one_line_with_its_name_and_the_sizes_of_its_arrays() -> None:
    bundle = mla.Bundle({"name": "mine"}, {"work_indptr": np.zeros(5, np.int32)})
    assert repr(bundle) == "<Bundle 'mine': work_indptr[5]>"
    assert repr(mla.Bundle({}, {})) == "<Bundle 'bundle': no arrays>"


def test_a_notebook_shows_the_pictures_in_a_frame_that_loads_nothing() -> None:
    bundle = mla.plan("mla1:1q4s900_1q1s513;heads=16;cu=4")
    frame = bundle._repr_html_()
    assert frame is not None
    tag, page = re.fullmatch(r'(<iframe [^>]*) srcdoc="([^"]*)"></iframe>', frame).groups()
    assert 'sandbox="allow-scripts"' in tag
    page = html.unescape(page)
    assert page.startswith("<!DOCTYPE html>")
    assert "default-src 'none'" in page
    assert page.count("data-w=\"0\"") > 1


def test_a_name_with_markup_stays_text_in_a_notebook() -> None:
    bundle = mla.plan("mla1:1q1s9;cu=4")
    bundle.scalars["name"] = '"><script>alert(1)</script>'
    frame = bundle._repr_html_()
    assert frame is not None
    assert "<script>alert" not in frame
    assert "<script>alert" not in html.unescape(frame.partition("srcdoc=")[2])


def test_a_bundle_without_a_plan_has_no_picture() -> None:
    assert mla.Bundle({"arch": "gfx942"}, {})._repr_html_() is None
