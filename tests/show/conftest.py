"""What tests of diagrams share."""

import pytest


@pytest.fixture
def any_height(monkeypatch):
    """Diagrams as high as they are made: to fit one to what is on it takes as long as to draw it.

    For tests of what is drawn; how it looks is a matter of others (test_every_display).
    """
    for kind in ("reliability", "curves"):
        monkeypatch.setattr(f"calibrant.results._plots.{kind}.fit_height", lambda ax: None)
