"""The script of the page that measures has Python's numbers and Python's words."""

from __future__ import annotations

import json
import math
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
from page_files import write_files

import calibrant as cal
from calibrant import InputError
from calibrant._api.measure_page import measure_page
from calibrant._core.texts import TEXTS
from conftest import PAGES, program

MEASURES = ("ece", "atb", "brier", "log_loss", "auroc")
SCRIPTS = [PAGES / "measure.js", PAGES / "measure_page.js"]
# Twice every size with every form of a file and every kind of label.
N_FILES = 120
FOUR = "y,p\n1,.5\n0,.3\n1,.9\n"
# Files that are refused, and how.
FAULTS = {
    "empty.csv": "",
    "header.csv": "y_true,p\n",
    "blank.jsonl": "\n",
    "numbers.csv": "1,.5\n0,.4\n",
    "no_p.csv": "y_true,q\n1,.5\n",
    "no_y.csv": "a,p\n1,.5\n",
    "logits.csv": "y,logits\n1,.5\n",
    "two.csv": "y,label,p\n1,1,.5\n",
    "twice.csv": "y,p,p0,p1\n1,.5,.5,.5\n",
    "whose.csv": "label,prediction,confidence\n1,1,.5\n0,1,.4\n",
    "wide.csv": FOUR + "0,.4,3\n",
    "short.csv": FOUR + "\n0\n",
    "text.csv": FOUR + "0,likely\n",
    "comma.csv": 'y,p\n1,"0,5"\n',
    "percent.csv": "y,p\n1,50%\n",
    "sign.csv": 'y,p\n1,"?\'"\n',
    "gap.csv": "y,p\n1,.5\n,.4\n1,\nNA,.2\n",
    "gaps.csv": "label,p0,p1,p2\n0,.5,.3,\n1,.1,.2,.7\n",
    "range.csv": FOUR + "0,3.1\n",
    "whole.csv": FOUR + "0,31\n",
    "small.csv": FOUR + "0,-12345678901234567890\n",
    "below.csv": "y,p\n1,-.00015\n0,-2\n",
    "infinite.csv": FOUR + "0,-inf\n",
    "label.csv": FOUR + "2,.5\n",
    "negative.csv": FOUR + "-1,.5\n",
    "fraction.csv": FOUR + "1.25,.5\n",
    "infinite_label.csv": FOUR + "inf,.5\n",
    "named.csv": "y,p\nyes,.5\nno,.4\n",
    "among.csv": FOUR + "total,.5\n",
    "swapped.csv": "y,p\n.3,1\n.2,0\n",
    "sums.csv": "label,p0,p1,p2\n0,.5,.3,.2\n2,.1,.2,.8\n",
    "index.csv": "label,p0,p1,p2\n0,.5,.3,.2\n3,.1,.2,.7\n",
    "half.csv": "label,p0,p1,p2\n0,.5,.3,.2\n1.5,.1,.2,.7\n",
    "unknown.csv": "label,proba_cat,proba_dog\ncat,.5,.5\nxyz,.2,.8\n",
    "from_one.csv": "label,p1,p2\n1,.5,.5\n3,.2,.8\n",
    "shares.csv": "y_true0,y_true1,p0,p1\n.5,.5,.2,.8\n.2,.2,.5,.5\n",
    "classes.jsonl": '{"y": [0.5, 0.5], "p": [0.2, 0.3, 0.5]}\n',
    "list.jsonl": '{"y": 1, "p": 0.5}\n[1]\n',
    "null.jsonl": '{"y": 1, "p": 0.5}\nnull\n',
    "word.jsonl": '{"y": 1, "p": 0.5}\n{"y": 0, "p": "maybe"}\n',
    "gap.jsonl": '{"y": 1, "p": 0.5}\n\n{"y": 0}\n',
    "true.jsonl": '{"y": 1, "p": 0.5}\n{"y": 0, "p": true}\n',
    "long.jsonl": '{"y": 1, "p": [0.5, 0.5]}\n{"y": 0, "p": [1]}\n',
}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return write_files(tmp_path_factory.mktemp("files"), N_FILES)


@pytest.fixture(scope="module")
def found(measured, files):
    return measured([file.path for file in files])


def test_values_are_those_of_python(files, found):
    apart = []
    for file, here in zip(files, found, strict=True):
        there = cal.evaluate_file(file.path, uncertainty=False)
        pairs = {name: (here["measures"][name], there[name]) for name in MEASURES if name in there}
        pairs["slope"] = here["slope"]["value"], cal.cox_calibration(file.y, file.p).slope
        assert len(pairs) >= 5 and here["n"] == len(file.p)
        apart += [(file.path.name, name, *pair) for name, pair in pairs.items() if not near(*pair)]
    assert not apart


def near(a, b):
    """Whether two values are equal to 1e-12; null is a value that does not exist."""
    if a is None or not math.isfinite(b):
        return a is None and not math.isfinite(b)
    return abs(a - b) <= 1e-12 * max(1.0, abs(b))


def test_bins_and_their_intervals_are_those_of_python(files, found):
    for file, here in zip(files, found, strict=True):
        table = cal.reliability(file.y, file.p)
        there = table.intervals(method="normal" if here["soft"] else "wilson")
        for name, column in there.items():
            mine = [bin[name] for bin in here["bins"]]
            assert all(map(near, mine, column)), (file.path.name, name)


def test_noise_floors_are_those_of_python_but_for_their_draws(files, found):
    tried = [i for i, here in enumerate(found) if here["n"] >= 120 and here["k"] == 1][:24]
    assert {found[i]["soft"] for i in tried} == {True, False}
    for i in tried:
        here, there = found[i]["floor"], cal.noise_floor(files[i].y, files[i].p, n_resamples=2000)
        # Soft labels of rare events have a second noise model in Python, which raises the floor.
        assert here["mean"] <= 1.06 * there.mean and here["upper"] <= 1.08 * there.upper
        if not found[i]["soft"]:
            assert here["mean"] >= 0.94 * there.mean and here["upper"] >= 0.92 * there.upper


def test_most_verdicts_are_those_of_python(files, found):
    tried = range(0, N_FILES, 4)
    pairs = [(cal.verdict(files[i].y, files[i].p), found[i]["verdict"]) for i in tried]
    assert sum(there.verdict == here["word"] for there, here in pairs) >= 0.9 * len(tried)


def test_few_calibrated_predictions_are_called_miscalibrated(measured, tmp_path):
    rng, paths = np.random.default_rng(8), []
    for number in range(200):
        p = rng.beta(*((1, 1), (1, 9))[number % 2], 300)
        rows = zip((rng.random(300) < p).astype(int).tolist(), p.tolist(), strict=True)
        paths.append(tmp_path / f"{number}.csv")
        paths[-1].write_text("y,p\n" + "".join(f"{y},{u!r}\n" for y, u in rows))
    called = [here["verdict"]["word"] for here in measured(paths)]
    assert called.count("miscalibrated") <= 18  # of a rate of 6 %, with a chance of 4 %


def test_faults_have_the_words_of_python(measured, tmp_path):
    for name, content in FAULTS.items():
        (tmp_path / name).write_text(content)
    here = measured([tmp_path / name for name in FAULTS])
    apart = []
    for name, found in zip(FAULTS, here, strict=True):
        with pytest.raises(InputError) as caught:
            cal.evaluate_file(tmp_path / name)
        # Python names the file by its path.
        there = str(caught.value).replace(f"{tmp_path}/", "")
        if found.get("fault") != there:
            apart.append((name, found.get("fault"), there))
    assert not apart


def test_a_line_that_is_not_json_is_named(measured, tmp_path):
    path = tmp_path / "cut.jsonl"
    path.write_text('{"y": 1, "p": 0.5}\n{"y": 1')
    fault = "cut.jsonl, line 2 is not JSON. Each line must be one record, {...}"
    assert measured([path]) == [{"fault": fault}]
    with pytest.raises(InputError, match=r"line 2 is not JSON: .*\. Each line must be one record"):
        cal.evaluate_file(path)


def test_every_message_is_said_by_both():
    script = SCRIPTS[0].read_text()
    source = PAGES.parents[1]
    python = "".join(path.read_text() for path in sorted(source.rglob("*.py")))
    for key in TEXTS:
        assert f'"{key}"' in script, key
        assert re.search(rf'message\([^()]*"{key}"|TEXTS\["{key}"\]', python), key


def test_scripts_are_short_and_the_page_is_small():
    assert sum(len(path.read_text().splitlines()) for path in SCRIPTS) <= 1000
    assert len(measure_page().encode()) <= 300_000


def test_types_of_the_scripts_are_sound(tmp_path):
    options = {"allowJs": True, "checkJs": True, "noEmit": True, "strict": True, "types": []}
    options |= {"target": "es2022", "lib": ["es2022", "dom", "dom.iterable"]}
    config = tmp_path / "tsconfig.json"
    config.write_text(json.dumps({"compilerOptions": options, "files": list(map(str, SCRIPTS))}))
    command = [program("tsc"), "--project", str(config)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=Path("/"))
    assert done.returncode == 0, done.stdout
