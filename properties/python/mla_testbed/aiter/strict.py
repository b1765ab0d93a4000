"""AITER's test helpers, made to judge: comparisons and verdicts fail, and nothing is run a hundred
times.

aiter.test_common.checkAllclose returns the share of wrong elements and logs; most tests do not look
at it. run_perftest and perftest run a function 101 times and read traces of a GPU.
"""

from __future__ import annotations

import functools
import inspect
import time
from collections.abc import Callable
from typing import Any

import torch

from .findings import Findings


def install(test_common: Any, findings: Findings, *, once: bool = True) -> None:
    """Replaces the helpers of the module aiter.test_common.

    once: run_perftest and perftest run their function once; without it they stay as they are.
    """
    test_common.checkAllclose = _check(test_common.checkAllclose, findings)
    test_common.benchmark = _benchmark(test_common.benchmark, findings)
    if once:
        test_common.perftest = _perftest
        test_common.run_perftest = _run_perftest


def _check(original: Callable[..., Any], findings: Findings) -> Callable[..., Any]:
    signature = inspect.signature(original)

    @functools.wraps(original)
    def check(*args: Any, **kwargs: Any) -> Any:
        given = signature.bind(*args, **kwargs)
        given.apply_defaults()
        share = original(*args, **kwargs)
        tolerated = given.arguments.get("tol_err_ratio", 0.05)
        message = str(given.arguments.get("msg", "")).strip()
        failed = float(share) > tolerated or _not_a_number(given.arguments)
        findings.add(message, float(share), failed)
        return share

    return check


def _not_a_number(arguments: dict[str, Any]) -> bool:
    """Whether a NaN stands where the other side has none: no share of these is tolerated."""
    a, b = arguments["a"], arguments["b"]
    if not (a.is_floating_point() and b.is_floating_point()) or a.shape != b.shape:
        return False
    return bool((torch.isnan(a) != torch.isnan(b)).any())


def _benchmark(original: Callable[..., Any], findings: Findings) -> Callable[..., Any]:
    def benchmark(*options: Any, **named: Any) -> Callable[..., Any]:
        decorate = original(*options, **named)

        def decorator(function: Callable[..., Any]) -> Callable[..., Any]:
            @functools.wraps(function)
            def in_a_case(*args: Any, **kwargs: Any) -> Any:
                findings.cases += 1
                findings.case = {
                    name: _text(value)
                    for name, value in inspect.getcallargs(function, *args, **kwargs).items()}
                result = function(*args, **kwargs)
                _verdicts(result, findings)
                return result

            # AITER looks at the parameters of what it decorates, not through a wrapper.
            in_a_case.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]
            run = decorate(in_a_case)

            @functools.wraps(function)
            def wrapper(*args: Any, **kwargs: Any) -> Any:
                try:
                    return run(*args, **kwargs)
                except Exception as e:  # whatever a case raises is its verdict
                    if not findings.refuse(e):
                        raise
                    return dict(findings.case)

            return wrapper

        return decorator

    return benchmark


def _verdicts(result: Any, findings: Findings) -> None:
    """Those that a benchmark puts into its table, where nobody looks at them: `all_close`,
    `all_close_fast`."""
    for name, held in result.items() if isinstance(result, dict) else ():
        if str(name).startswith("all_close"):
            findings.add(str(name), 0.0 if held else 1.0, not held)


def _text(value: Any) -> str:
    if isinstance(value, torch.Tensor):
        return f"tensor{list(value.shape)}"
    return str(value).removeprefix("torch.")


def _perftest(*_: Any, **__: Any) -> Callable[..., Any]:
    def decorator(function: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(*args: Any, **kwargs: Any) -> tuple[Any, float]:
            start = time.perf_counter()
            result = function(*args, **kwargs)
            return result, (time.perf_counter() - start) * 1e6  # of the host: not zero

        return wrapper

    return decorator


_OPTIONS = ("num_iters", "num_warmup", "testGraph", "num_rotate_args", "needTrace",
            "use_cuda_event")


def _run_perftest(func: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    for option in _OPTIONS:
        kwargs.pop(option, None)
    return _perftest()(func)(*args, **kwargs)
