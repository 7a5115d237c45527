import json
from typing import Any

import numpy as np
import pytest

from matchdg.core.errors import InputError
from matchdg.data.counter_example import CounterExampleSettings
from matchdg.theory import counter_example
from matchdg.theory.counter_example import VARIANT_KAPPA, _assumption, _stable_ranges

RESULT = counter_example()
SECTION, APPENDIX = RESULT["section 3.1"], RESULT["appendix A.2"]


def _rule(example: dict[str, Any], name: str) -> dict[str, Any]:
    (rule,) = (rule for rule in example["rules"] if rule["rule"] == name)
    return dict(rule)


def test_the_examples_are_the_paper_s() -> None:
    assert list(RESULT) == ["section 3.1", "appendix A.2"]
    assert (SECTION["kappa"], APPENDIX["kappa"]) == (0.0, 1.6)


@pytest.mark.parametrize(("example", "name"), [(SECTION, "x1 >= 1.5"), (APPENDIX, "x1 >= 3.1")])
def test_the_spurious_rule_is_invariant_and_perfect_on_the_sources_and_fails_on_the_target(
    example: dict[str, Any], name: str
) -> None:
    # x1 given class 1 is uniform on [2, 4] (or 5.2 to 7.2), given class 0 on [-1, 1], on either source. On the
    # target class 1 it is uniform on [0, 2] (or 1.6 to 3.6): a quarter is above the threshold.
    assert _rule(example, name)["exact"] == {
        "Source 1": 1.0,
        "Source 2": 1.0,
        "Target": 0.625,
        "Target class 1": 0.25,
        "class-conditional gap": 0.0,
    }


@pytest.mark.parametrize("example", [SECTION, APPENDIX], ids=["section", "appendix"])
def test_the_stable_rule_is_perfect_everywhere_and_not_class_conditionally_invariant(
    example: dict[str, Any],
) -> None:
    # x_c given class 1 is uniform on [1, 3] and on [0, 2]: half of each is where the other is not.
    assert _rule(example, "x1 - x2 >= 0")["exact"] == {
        "Source 1": 1.0,
        "Source 2": 1.0,
        "Target": 1.0,
        "Target class 1": 1.0,
        "class-conditional gap": 0.5,
    }


@pytest.mark.parametrize("example", [SECTION, APPENDIX], ids=["section", "appendix"])
def test_what_is_measured_is_what_is_exact(example: dict[str, Any]) -> None:
    for rule in example["rules"]:
        assert rule["measured"].keys() == rule["exact"].keys()
        # Four standard errors: of a share of 50,000 points, and of the distance between two such samples.
        assert rule["measured"] == pytest.approx(rule["exact"], abs=0.013)
        for name in ("Source 1", "Source 2"):
            assert rule["measured"][name] == 1.0
        assert rule["measured"]["Target"] == pytest.approx(rule["exact"]["Target"], abs=0.004)
        assert rule["measured"]["Target class 1"] == pytest.approx(rule["exact"]["Target class 1"], abs=0.008)
    exact, measured = example["assumption"]["exact"], example["assumption"]["measured"]
    assert measured == pytest.approx(exact, abs=0.001)


def test_section_3_1_does_not_meet_the_assumption_and_the_variant_does() -> None:
    # Class 1 reaches from 0 on source 2 to 3 on source 1; the classes meet at 0, and kappa moves both away.
    assert SECTION["assumption"]["exact"] == {
        "largest same-class distance": 3.0,
        "smallest different-class distance": 0.0,
        "holds": False,
    }
    assert APPENDIX["assumption"]["exact"] == {
        "largest same-class distance": 3.0,
        "smallest different-class distance": 3.2,
        "holds": True,
    }
    assert SECTION["assumption"]["measured"]["holds"] is False
    assert APPENDIX["assumption"]["measured"]["holds"] is True


@pytest.mark.parametrize(("kappa", "holds"), [(0.0, False), (1.4, False), (1.5, True), (1.6, True), (3.0, True)])
def test_the_assumption_begins_to_hold_at_a_kappa_of_1_5(kappa: float, holds: bool) -> None:
    assert _assumption(_stable_ranges(kappa))["holds"] is holds


@pytest.mark.parametrize(("kappa", "holds"), [(0.0, False), (1.3, False), (VARIANT_KAPPA, True)])
def test_the_assumption_agrees_with_a_search_over_all_triples(kappa: float, holds: bool) -> None:
    train = CounterExampleSettings(kappa=kappa, train_per_domain=600).build(0).train
    x1, x2 = np.asarray(train.inputs, dtype=np.float64).T
    distance = np.abs(np.subtract.outer(x1 - x2, x1 - x2))
    labels, domains = train.labels.numpy(), train.domains.numpy()
    same_class = labels[:, None] == labels
    matched = same_class & (domains[:, None] != domains)
    farthest_match = np.where(matched, distance, -np.inf).max(axis=1)
    nearest_other = np.where(same_class, np.inf, distance).min(axis=1)
    assert bool((farthest_match <= nearest_other).all()) is holds


def test_the_result_is_plain_and_the_same_every_time() -> None:
    assert json.loads(json.dumps(RESULT, allow_nan=False)) == RESULT
    assert counter_example(seed=3, count=500) == counter_example(seed=3, count=500)
    assert counter_example(seed=3, count=500) != counter_example(seed=4, count=500)


def test_an_odd_count_still_weighs_the_classes_equally() -> None:
    rule = _rule(counter_example(count=3)["section 3.1"], "x1 - x2 >= 0")
    assert rule["measured"]["Target"] == 1.0


@pytest.mark.parametrize("count", [1, 0, -5])
def test_too_few_points_are_refused(count: int) -> None:
    with pytest.raises(InputError, match=f"greater than or equal to 2, got {count}"):
        counter_example(count=count)
