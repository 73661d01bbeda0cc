"""Fixture for pytest: ``assert_quality``, which fails a test on a worse ranking."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest


@pytest.fixture
def assert_quality() -> Callable[..., Any]:
    """``rankgauge.assert_quality``: bounds of measures, and a comparison with a baseline."""
    from rankgauge import assert_quality

    return assert_quality
