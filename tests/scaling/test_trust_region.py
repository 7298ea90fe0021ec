"""The search for the least loss: SciPy's minima, and no product with the Hessian made twice."""

import numpy as np
import pytest
from scipy.optimize import minimize, rosen, rosen_der, rosen_hess_prod

from calibrant.scaling._trust_region import _Path, search


def found_from(start, **options):
    given = {"small": 1e-9, "radius": 1.0, "max_iter": 300} | options
    return search(lambda x: (rosen(x), rosen_der(x)), rosen_hess_prod, np.array(start), **given)


@pytest.mark.parametrize("start", [[-1.2, 1.0], [0.0, 0.0, 3.0, -2.0], [1.0, 1.0]])
@pytest.mark.parametrize("radius", [1e-3, 1.0, 1e3])
def test_minima_are_those_of_scipy(start, radius):
    """Rosenbrock's valley, which curves down in places."""
    found = found_from(start, radius=radius)
    slow = minimize(
        rosen,
        start,
        jac=rosen_der,
        hessp=rosen_hess_prod,
        method="trust-ncg",
        options={"gtol": 1e-9, "initial_trust_radius": min(radius, 10.0)},
    )
    assert np.linalg.norm(rosen_der(found.at)) < 1e-9
    np.testing.assert_allclose(found.at, slow.x, rtol=1e-6)


def test_steps_end_where_they_are_told():
    assert found_from([-1.2, 1.0], max_iter=3).n_iter == 3
    assert found_from([1.0, 1.0]).n_iter == 0


def test_steps_lie_on_the_path_within_every_radius():
    """Each is the least of the quadratic on a path whose points lie ever farther away; cut, it
    needs no product.
    """
    rng = np.random.default_rng(5)
    root = rng.normal(size=(12, 12))
    hessian, gradient = root @ root.T + 0.1 * np.eye(12), rng.normal(size=12)
    asked = []

    def product(along):
        asked.append(along)
        return hessian @ along

    path = _Path(gradient, product)
    path._enough = 1e-10  # to the end
    whole, fall, at_border = path.end_within(1e9)
    assert not at_border
    np.testing.assert_allclose(whole, -np.linalg.solve(hessian, gradient), rtol=1e-6)
    assert fall == pytest.approx(0.5 * gradient @ np.linalg.solve(hessian, gradient))
    n_asked, falls = len(asked), []
    for share in (0.9, 0.5, 0.1, 0.001):
        radius = share * np.linalg.norm(whole)
        step, fall, at_border = path.end_within(radius)
        assert at_border and np.linalg.norm(step) == pytest.approx(radius)
        assert fall == pytest.approx(-(gradient @ step + 0.5 * step @ hessian @ step))
        falls.append(fall)
    assert len(asked) == n_asked
    assert falls == sorted(falls, reverse=True) and falls[-1] > 0


def test_loss_that_curves_down_leads_to_the_border():
    path = _Path(np.array([1.0, 0.0]), lambda along: -along)
    step, fall, at_border = path.end_within(2.0)
    np.testing.assert_allclose(step, [-2.0, 0.0])
    assert at_border and fall == pytest.approx(4.0)
