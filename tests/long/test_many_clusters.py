"""A million clusters, whose rows stand anywhere in a file or a frame, have the limits of arrays."""

import numpy as np
import pytest

import calibrant as cal
from needs import need
from rivals import sigmoid


def test_a_million_clusters(tmp_path):
    rng = np.random.default_rng(0)
    cluster = np.repeat(np.arange(1_000_000), 2)
    h = rng.normal(0, 1.5, cluster.size)
    chance = sigmoid(h + rng.normal(0, 0.5, 1_000_000)[cluster])
    y, p = (rng.random(cluster.size) < chance).astype(np.int8), sigmoid(1.1 * h)
    known = cal.interval(y, p, groups=cluster)
    order, path = rng.permutation(cluster.size), tmp_path / "rows.parquet"
    columns = {"label": y[order], "proba": p[order], "user": cluster[order]}
    need("pyarrow.parquet").write_table(need("pyarrow").table(columns), path)
    of_file = cal.evaluate_file(path, measures=["ece"], groups="user", uncertainty=True)
    relation = need("duckdb").sql(f"SELECT * FROM '{path}'")
    of_frame = cal.interval("label", "proba", data=relation, groups="user")
    # Clusters are dealt into blocks in the order of their names, which of a file are texts.
    near = 0.15 * (known.high - known.low)
    for found in (of_file.estimate("ece").interval, of_frame):
        assert (found.low, found.high) == pytest.approx((known.low, known.high), abs=near)
