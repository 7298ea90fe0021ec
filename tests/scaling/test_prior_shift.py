"""Prior shift: priors given, in labels, and found without any; measures at another prevalence."""

import warnings

import numpy as np
import pytest
from scaling_problems import BINARY, MULTICLASS, softmax
from scipy.optimize import minimize
from scipy.special import expit

import calibrant as cal
from calibrant import CalibrantWarning, InputError, StateError, scaling
from calibrant.scaling import PriorShift, at_prior
from needs import need

OLD, NEW = np.array([0.5, 0.3, 0.2]), np.array([0.1, 0.2, 0.7])
CENTRES = 1.6 * np.eye(3)


def drawn(prior, n, seed, at=OLD):
    """Rows of a population whose classes are Gaussian, and exact predictions for the prior `at`."""
    rng = np.random.default_rng(seed)
    y = rng.choice(3, n, p=prior)
    x = CENTRES[y] + rng.normal(size=(n, 3))
    distance = ((x[:, None] - CENTRES) ** 2).sum(axis=2)
    return y, softmax(np.log(at) - distance / 2)


def binary_rows(share, n, seed, at=0.5):
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < share).astype(int)
    x = rng.normal(2.0 * y - 1, 1.2)
    return y, 1 / (1 + np.exp(-(2 * x / 1.44 + np.log(at / (1 - at)))))


def slow_em(rows, source, weights, steps=3000):
    """The two steps of Saerens et al., row by row."""
    prior = list(source)
    for _ in range(steps):
        total = [0.0] * len(prior)
        for row, w in zip(rows, weights, strict=True):
            posterior = [u * a / b for u, a, b in zip(row, prior, source, strict=True)]
            whole = sum(posterior)
            total = [t + w * q / whole for t, q in zip(total, posterior, strict=True)]
        prior = [t / sum(weights) for t in total]
    return prior


def test_em_is_the_slow_twin_and_the_likeliest_prior():
    _, rows = drawn(NEW, 60, 1)
    w = np.random.default_rng(2).random(60) * 3
    scaler = PriorShift(source_prior=OLD).fit_unlabelled(rows, sample_weight=w)
    np.testing.assert_allclose(scaler.prior_, slow_em(rows, OLD, w, 400), atol=1e-7)

    def loss(theta):
        return -w @ np.log(rows / OLD @ softmax(np.append(0.0, theta)[None])[0])

    found = minimize(loss, [0.0, 0.0], method="BFGS", options={"gtol": 1e-9}).x
    np.testing.assert_allclose(scaler.prior_, softmax(np.append(0.0, found)[None])[0], atol=1e-5)


@pytest.mark.parametrize("seed", [0, 1])
def test_a_shift_is_found_without_labels_and_put_right(seed):
    y, rows = drawn(NEW, 20_000, seed)
    scaler = PriorShift(source_prior=OLD).fit_unlabelled(rows)
    np.testing.assert_allclose(scaler.prior_, NEW, atol=0.015)
    np.testing.assert_allclose(scaler.prior_, np.bincount(y) / len(y), atol=0.015)
    exact = drawn(NEW, 20_000, seed, at=NEW)[1]
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # rows without labels may be mapped
        shifted = scaler.transform(rows)
    np.testing.assert_allclose(shifted, exact, atol=0.03)
    known = PriorShift(prior=NEW, source_prior=OLD).fit_unlabelled(rows).transform(rows)
    np.testing.assert_allclose(known, exact, rtol=1e-9)
    before, after = (cal.ece(y, p, notion="classwise") for p in (rows, shifted))
    assert before > 0.08 and after < 0.015


def test_a_binary_shift_by_each_way():
    y_old, p_old = binary_rows(0.5, 4000, 0)
    y, p = binary_rows(0.05, 20_000, 1)
    exact = binary_rows(0.05, 20_000, 1, at=0.05)[1]
    ways = {
        "both given": PriorShift(prior=0.05, source_prior=0.5).fit_unlabelled(p),
        "source labels": PriorShift(prior=0.05).fit(y_old, p_old),
        "new labels": PriorShift(source_prior=0.5).fit(y[::2], p[::2]),
        "ratio": PriorShift().fit(y[::2], p[::2]),
        "no labels": PriorShift(source_prior=[0.5, 0.5]).fit_unlabelled(p),
        "labels of the source": PriorShift().fit_unlabelled(p, y_source=y_old),
    }
    for name, scaler in ways.items():
        out = scaler._apply(scaler._predictions(p, None))
        np.testing.assert_allclose(out, exact, atol=0.05, err_msg=name)
        assert cal.ece(y, out) < 0.012 < 0.1 < cal.ece(y, p)
    np.testing.assert_allclose(ways["both given"].transform(p), exact, rtol=1e-9)
    # Labelled rows of the new population: the ratio is about that of the true priors.
    np.testing.assert_allclose(ways["ratio"].source_prior_, [0.5, 0.5], atol=0.04)


@pytest.mark.parametrize("targets", ["hard", "soft"])
def test_the_ratio_has_the_least_log_loss(targets):
    w = MULTICLASS.weights.astype(float)
    logs = np.log(MULTICLASS.proba)
    z = np.eye(4)[MULTICLASS.hard] if targets == "hard" else MULTICLASS.soft

    def loss(b):
        eta = logs + np.append(b, 0.0)
        return -np.sum(w[:, None] * z * np.log(softmax(eta))) / w.sum()

    found = minimize(loss, [0.0] * 3, method="BFGS", options={"gtol": 1e-9})
    scaler = PriorShift().fit(getattr(MULTICLASS, targets), MULTICLASS.proba, sample_weight=w)
    assert scaler.loss_ == pytest.approx(found.fun, abs=1e-9)
    ratio = scaler.prior_ / scaler.source_prior_
    np.testing.assert_allclose(np.log(ratio[:3] / ratio[3]), found.x, atol=1e-5)
    # Every class is predicted as often as it comes.
    out = scaler._apply(scaler._predictions(MULTICLASS.proba, None))
    np.testing.assert_allclose(w @ out, w @ z, atol=1e-5)


def test_soft_labels_count_by_their_shares():
    scaler = PriorShift(prior=0.1).fit(BINARY.soft, BINARY.proba, sample_weight=BINARY.weights)
    assert scaler.source_prior_[1] == pytest.approx(
        np.average(BINARY.soft, weights=BINARY.weights), rel=1e-12
    )
    new = PriorShift(source_prior=0.1).fit(BINARY.soft, BINARY.proba)
    assert new.prior_[1] == pytest.approx(BINARY.soft.mean())


def test_certainties_stay_and_logits_are_probabilities():
    shift = PriorShift(prior=0.02, source_prior=0.3)
    assert shift.fit_unlabelled([0.0, 0.5, 1.0]).transform([0.0, 1.0]).tolist() == [0.0, 1.0]
    options = {"prior": NEW, "source_prior": OLD}
    h = np.random.default_rng(0).normal(size=(50, 3)) * 3
    by_logits = PriorShift(**options, from_logits=True).fit_unlabelled(h).transform(h)
    rows = softmax(h)
    np.testing.assert_allclose(
        by_logits, PriorShift(**options).fit_unlabelled(rows).transform(rows), rtol=1e-12
    )


def test_a_fit_without_labels_is_saved_and_shows_itself(tmp_path):
    _, rows = drawn(NEW, 300, 5)
    scaler = PriorShift(source_prior=OLD).fit_unlabelled(rows)
    scaler.save(tmp_path / "s.json")
    again = scaling.load(tmp_path / "s.json")
    np.testing.assert_array_equal(again.transform(rows), scaler.transform(rows))
    assert repr(again).endswith("from 300 rows without labels>") and np.isnan(again.loss_)
    assert again.share_fitted(rows) is None
    damaged = scaler.to_json().replace('"source_prior_": [0.5', '"source_prior_": [0.0')
    with pytest.raises(StateError, match="damaged"):
        scaling.from_json(damaged)


class TestAtPrior:
    def test_at_prior_foretells_what_is_measured_there(self):
        """Rows at 50 %, weighed and mapped to 5 %, against rows that were drawn at 5 %."""
        y, p = binary_rows(0.5, 40_000, 3)
        p = p**1.3 / (p**1.3 + (1 - p) ** 1.3)  # too steep, so that there is an error to measure
        there, raw = binary_rows(0.05, 40_000, 4)
        raw = raw**1.3 / (raw**1.3 + (1 - raw) ** 1.3)
        rows = at_prior(y, p, prior=0.05)
        assert np.average(y, weights=rows["sample_weight"]) == pytest.approx(0.05)
        mapped = PriorShift(prior=0.05, source_prior=y.mean()).fit_unlabelled(raw).transform(raw)
        for name in ("ece", "brier_score", "log_loss"):
            measure = getattr(cal, name)
            assert measure(**rows) == pytest.approx(measure(there, mapped), abs=0.004)
            as_it_is = at_prior(y, p, prior=0.05, shift_predictions=False)
            assert measure(**as_it_is) == pytest.approx(measure(there, raw), abs=0.01)
        assert cal.ece(**rows) < 0.2 * cal.ece(**as_it_is)

    @pytest.mark.parametrize("shape", ["binary", "multiclass"])
    def test_soft_labels_shift_as_hard_ones_do_on_average(self, shape):
        """A soft label is rows of every class, each with its share as weight."""
        made = BINARY if shape == "binary" else MULTICLASS
        k = 2 if shape == "binary" else 4
        prior = [0.9, 0.1] if k == 2 else [0.1, 0.2, 0.3, 0.4]
        soft = np.stack([1 - made.soft, made.soft], axis=1) if k == 2 else made.soft
        rows = at_prior(made.soft, made.proba, prior=prior, sample_weight=made.weights)
        hard = at_prior(
            np.tile(np.arange(k), 400),
            np.repeat(made.proba, k, axis=0),
            prior=prior,
            sample_weight=(made.weights[:, None] * soft).ravel(),
        )
        for name in ("ece", "log_loss"):
            measure = getattr(cal, name)
            assert measure(**rows) == pytest.approx(measure(**hard), rel=1e-9)
        total = rows["sample_weight"]
        mean = total @ rows["y_true"] / total.sum()
        np.testing.assert_allclose(mean, prior[1] if k == 2 else prior, rtol=1e-12)

    def test_the_same_prior_changes_nothing(self):
        rows = at_prior(
            MULTICLASS.hard,
            MULTICLASS.logits,
            from_logits=True,
            prior=np.bincount(MULTICLASS.hard) / 400,
        )
        np.testing.assert_allclose(rows["y_proba"], MULTICLASS.proba, rtol=1e-12)
        np.testing.assert_allclose(rows["sample_weight"], 1.0)
        assert cal.ece(**rows) == pytest.approx(cal.ece(MULTICLASS.hard, MULTICLASS.proba))

    def test_names_frames_and_votes(self):
        pandas = need("pandas")
        frame = pandas.DataFrame({"y": np.where(BINARY.hard == 1, "b", "a"), "p": BINARY.proba})
        found = at_prior("y", "p", prior=0.2, classes=["a", "b"], data=frame)
        plain = at_prior(BINARY.hard, BINARY.proba, prior=0.2)
        for name, values in plain.items():
            np.testing.assert_array_equal(found[name], values)
        counts = np.stack([3 - 2 * BINARY.hard, 1 + BINARY.hard], axis=1)
        rows = at_prior(counts, BINARY.proba, prior=0.2)
        assert np.average(rows["y_true"], weights=rows["sample_weight"]) == pytest.approx(0.2)


class TestWhatIsWrong:
    @pytest.mark.parametrize(
        ("prior", "message"),
        [
            (2, "a number between 0 and 1 such as 0.02.*got 2. If it is a percentage, divide"),
            (0.0, "prior must be the share of class 1.*got 0.0"),
            (float("nan"), "got nan"),
            ("two", "got 'two'"),
            ([0.5, 0.6], "sums to 1; got"),
            ([1.0, 0.0], "every class a share above 0"),
            ([[0.5, 0.5]], "sums to 1"),
            ([0.2, 0.3, 0.5], "each of the 2 classes of y_proba, in its order; it has 3"),
            (True, "got True"),
        ],
    )
    def test_priors_are_checked(self, prior, message):
        with pytest.raises(InputError, match=message):
            PriorShift(prior=prior).fit(BINARY.hard, BINARY.proba)
        with pytest.raises(InputError, match=message):
            at_prior(BINARY.hard, BINARY.proba, prior=prior)

    def test_a_source_is_needed_once(self):
        with pytest.raises(InputError, match=r"source_prior=...\) or y_source=labels; got neither"):
            PriorShift().fit_unlabelled(BINARY.proba)
        with pytest.raises(InputError, match="got both"):
            PriorShift(source_prior=0.3).fit_unlabelled(BINARY.proba, y_source=[0, 1])
        with pytest.raises(
            InputError, match=r"labels of rows; got 0.3. To give a share, use source_prior"
        ):
            PriorShift().fit_unlabelled(BINARY.proba, y_source=0.3)

    def test_a_class_without_labels_has_no_share_to_change(self):
        with pytest.raises(InputError, match=r"no label of class 1.*give source_prior, or rows"):
            PriorShift(prior=0.1).fit([0, 0], [0.2, 0.3])
        with pytest.raises(InputError, match=r"no label of class cat.*rows of every class"):
            at_prior(["dog"], [[0.5, 0.5]], prior=0.1, classes=["dog", "cat"])
        with pytest.raises(InputError, match="shift_predictions must be True or False; got 1"):
            at_prior([0, 1], [0.2, 0.3], prior=0.1, shift_predictions=1)

    def test_predictions_that_say_nothing_settle_slowly_or_not_at_all(self):
        flat = PriorShift(source_prior=0.3).fit_unlabelled(np.full(10, 0.3))
        np.testing.assert_allclose(flat.prior_, [0.7, 0.3])
        with pytest.warns(
            CalibrantWarning, match="did not converge in .* steps.*separate"
        ) as caught:
            PriorShift(source_prior=0.5).fit_unlabelled(np.full(10, 0.500001))
        assert caught[0].filename == __file__

    def test_what_is_not_fitted_names_both_ways(self):
        with pytest.raises(StateError, match=r"or fit_unlabelled\(y_proba\), first"):
            PriorShift(prior=0.1, source_prior=0.5).transform([0.2])


def logits_of(seed, k):
    """Labels and calibrated logits of two classes, (n,), or of k."""
    rng = np.random.default_rng(seed)
    h = 2 * rng.normal(size=(300, k)) + np.linspace(0, seed % 2, k)
    y = (h + rng.gumbel(size=h.shape)).argmax(axis=1)
    return y, (h if k > 2 else h[:, 1] - h[:, 0]), rng


@pytest.mark.parametrize("k", [2, 4])
@pytest.mark.parametrize("certain", ["zeros", "logits"])
def test_certain_predictions_cannot_be_moved_and_the_loss_never_rises(k, certain):
    for seed in range(15):
        y, h, rng = logits_of(seed, k)
        h[rng.random(h.shape) < 0.1] = -1000.0
        p = expit(h) if k == 2 else softmax(h)
        given = h if certain == "logits" else np.where(p < 1e-300, 0.0, p)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CalibrantWarning)
            scaler = PriorShift(from_logits=certain == "logits").fit(y, given)
        assert scaler.loss_ <= scaler.loss_before_ + 1e-12
        # No ratio nearby is better: rows that cannot be moved have no say.
        ratio = scaler.prior_ / scaler.source_prior_
        rows = np.stack([1 - p, p], axis=1) if k == 2 else p
        for j in range(k):
            for factor in (0.99, 1.01):
                moved = rows * ratio * np.where(np.arange(k) == j, factor, 1.0)
                moved /= moved.sum(axis=1, keepdims=True)
                loss = -np.log(np.maximum(moved[np.arange(300), y], 1e-12)).mean()
                assert loss >= scaler.loss_ - 1e-12


def test_where_all_is_certain_nothing_is_shifted():
    p = np.array([0.0, 0.0, 1.0, 1.0, 1.0])
    with pytest.warns(CalibrantWarning, match="prediction of 0 for the observed outcome"):
        scaler = PriorShift().fit([0, 1, 1, 1, 0], p)
    assert scaler.loss_ == pytest.approx(scaler.loss_before_)
    assert scaler.transform([0.3]).tolist() == [pytest.approx(0.3)]


@pytest.mark.parametrize("turned", [False, True])
def test_a_class_that_vanishes_is_reported(turned):
    """Predictions that are calibrated at 10 % and said to be at 50 %."""
    p = np.random.default_rng(0).beta(1, 9, 2000)
    with pytest.warns(CalibrantWarning) as caught:
        scaler = PriorShift(source_prior=0.5).fit_unlabelled(1 - p if turned else p)
    assert scaler.prior_.min() < 1e-9
    message = str(caught[0].message)
    name, mean = "0" if turned else "1", f"{p.mean():.3g}"
    assert f"likeliest if class {name} has a share of 0" in message
    assert f"predicted at {mean} on average, with a source prior of 0.5" in message


def test_a_vanished_class_has_its_name():
    _, rows = drawn([0.5, 0.5 - 1e-9, 1e-9], 4000, 3)
    rows = np.stack([rows[:, 0], rows[:, 1] + 0.9 * rows[:, 2], 0.1 * rows[:, 2]], axis=1)
    with pytest.warns(CalibrantWarning, match="class late has a share of 0"):
        PriorShift(source_prior=OLD).fit_unlabelled(rows, classes=["a", "b", "late"])


@pytest.mark.parametrize("share", [0.5, 0.05, 0.01])
def test_a_rare_class_has_not_vanished(share):
    _, p = binary_rows(share, 20_000, 4)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        scaler = PriorShift(source_prior=0.5).fit_unlabelled(p)
    assert scaler.prior_[1] == pytest.approx(share, rel=0.5, abs=1e-3)
