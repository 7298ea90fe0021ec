"""What tests of the command share."""

from functools import cache

import pytest

from calibrant import audit


@cache
def _audit_of(measures, seed):
    return audit(measures, seed=seed)


@pytest.fixture
def audited_once(monkeypatch):
    """An audit takes seconds: it is made once where what becomes of its result is the point."""
    monkeypatch.setattr(
        "calibrant._research.audits.audit.audit",
        lambda measures, *, seed: _audit_of(tuple(measures), seed),
    )
