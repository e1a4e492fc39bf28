"""Carver's interface, piece by piece, held against the real library: 8000 answers to ordinary and odd calls.

The probes are in api_probes and api_probes_tvm; tests/data/api_parity.json was written by record_api_parity.py on
tilelang 0.1.15. Values count, and their types where a caller could notice; an error is as good as another error.
"""

import json
import re
from pathlib import Path

import api_probes
import api_probes_tvm  # noqa: F401  (adds its probes)
import pytest

HERE = Path(__file__).parent
RECORD = json.loads((HERE / "data" / "api_parity.json").read_text())
SIDE = api_probes.Side(real=False)


def same(real, port) -> bool:
    """Whether the port's answer will do for the real one.

    TVM's arrays are tuples or lists here. Integers of numpy and TVM's integer constants may be plain ints: carver gives
    them where it took a product, or the lesser of an int and an extent.
    """
    if isinstance(real, dict) and isinstance(port, dict):
        if "raises" in real or "raises" in port:
            return "raises" in real and "raises" in port
        if "Array" in real:
            return same(real["Array"], port.get("tuple"))
        return real.keys() == port.keys() and all(same(real[key], port[key]) for key in real)
    if isinstance(real, dict):
        if "Array" in real:
            return same(real["Array"], port)
        if type(port) is int and "numpy.int64" in real:
            return real["numpy.int64"] == str(port)
        if type(port) is int and "IntImm" in real:
            return real["IntImm"][1] == str(port)
    if isinstance(real, list) and isinstance(port, list):
        return len(real) == len(port) and all(map(same, real, port))
    return type(real) is type(port) and real == port


@pytest.mark.filterwarnings("ignore:invalid value encountered")
@pytest.mark.parametrize("name", api_probes.PROBES)
def test_answers(name):
    expected = RECORD["probes"][name]
    answers = api_probes.ask(SIDE, name)
    assert answers.keys() == expected.keys()
    different = [
        f"{question}\n    real {json.dumps(real)[:500]}\n    port {json.dumps(answers[question])[:500]}"
        for question, real in expected.items()
        if not same(real, answers[question])
    ]
    assert not different, f"{len(different)} of {len(expected)} answers differ:\n" + "\n".join(different[:10])


def test_the_recording_is_of_these_probes():
    assert RECORD["tilelang"] == "0.1.15"
    assert list(RECORD["probes"]) == list(api_probes.PROBES)
    # No probe failed as a whole, and most answers are answers.
    assert all(list(answers) != [""] for answers in RECORD["probes"].values())
    answers = [answer for probe in RECORD["probes"].values() for answer in probe.values()]
    refused = sum(isinstance(answer, dict) and "raises" in answer for answer in answers)
    assert len(answers) > 8000 and refused < len(answers) / 5


def test_every_vendored_name_is_asked_for():
    """Each function, class and method of carver that has no underscore before it; its drivers need a device."""
    facts = json.loads((HERE.parent / "fixtures" / "vendored_facts.json").read_text())
    names = set()
    for path, entries in facts["files"].items():
        if path.startswith("carver/") and not path.startswith("carver/arch/driver"):
            names |= {entry["name"].split(".")[-1] for entry in entries if entry["kind"] != "constant"}
    source = "".join((HERE / name).read_text() for name in ("api_probes.py", "api_probes_tvm.py"))
    asked = set(re.findall(r"\w+", source))
    assert len(names) > 200
    assert sorted(name for name in names if not name.startswith("_") and name not in asked) == []


def test_modules_of_two_names_are_one():
    """carver.policy and carver.bestfit, by their vendored names too."""
    import carver.bestfit
    import carver.policy.common
    import carver.roller.policy.common
    from carver.roller import DefaultPolicy
    from carver.roller.bestfit import BestFit
    from carver.roller.policy import TensorCorePolicy
    from carver.roller.policy.default import DefaultPolicy as OfModule

    assert carver.roller.policy.common is carver.policy.common and carver.roller.policy is carver.policy
    assert OfModule is DefaultPolicy is carver.policy.DefaultPolicy
    assert TensorCorePolicy is carver.policy.TensorCorePolicy and BestFit is carver.bestfit.BestFit


def test_other_answers_are_told_apart():
    """The comparison is strict about types, and lets pass only what it says."""
    assert same({"numpy.int64": "4"}, 4) and not same({"numpy.int64": "4"}, 5)
    assert same({"IntImm": ["int32", "4"]}, 4) and not same(4, {"IntImm": ["int32", "4"]})
    assert not same(4, {"float": "4.0"}) and not same(True, 1) and not same("'4", 4)
    assert same({"Array": [1]}, [1]) and same({"Array": [1]}, {"tuple": [1]}) and not same({"tuple": [1]}, [1])
    assert same({"raises": "TypeError"}, {"raises": "CarverError"}) and not same({"raises": "TypeError"}, None)
    assert not same({"dict": [["'a", 1], ["'b", 2]]}, {"dict": [["'b", 2], ["'a", 1]]})
