"""Write tests/data/api_parity.json: what the real carver answers to the probes of api_probes and api_probes_tvm.

Run it with an interpreter that has tilelang 0.1.15 (no GPU needed): python tests/record_api_parity.py
It refuses to run under the port. The tests compare the port's answers with this file and never write it.
"""

import json
import sys
from importlib.metadata import version
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))


def main() -> None:
    import api_probes
    import api_probes_tvm  # noqa: F401  (adds its probes)
    import tilelang  # noqa: F401  (puts its own tvm on the path)

    side = api_probes.Side(real=True)
    probes = {name: api_probes.ask(side, name) for name in api_probes.PROBES}
    head = {"tilelang": version("tilelang"), "command": "python tests/record_api_parity.py"}
    lines = [json.dumps(head)[:-1] + ', "probes": {']
    for name, answers in probes.items():
        lines.append(f"{json.dumps(name)}: {{")
        # An answer a line, so that a change shows which.
        inner = [
            f"{json.dumps(question)}: {json.dumps(found, separators=(',', ':'))}" for question, found in answers.items()
        ]
        lines.append(",\n".join(inner))
        lines.append("},")
    lines[-1] = "}}}"
    path = HERE / "data" / "api_parity.json"
    path.write_text("\n".join(lines) + "\n")
    count = sum(map(len, probes.values()))
    print(f"{path}: {count} answers of {len(probes)} probes")


if __name__ == "__main__":
    main()
