"""Write tests/data/te_scripts.json: what the real TVM prints for every program of te_programs.py.

Run it with an interpreter that has tilelang 0.1.15 (no GPU needed): python tests/record_te_scripts.py
It refuses to run under the port. The tests compare the port's text with this file and never write it.
"""

import json
import sys
from importlib.metadata import version
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))


def main() -> None:
    import te_programs
    import tilelang  # noqa: F401  (puts its own tvm on the path)
    from tvm import te, tirx

    scripts = {}
    for name, program in te_programs.programs().items():
        try:
            scripts[name] = te_programs.make(program, te, tirx).script()
        except Exception as error:  # the kind of error is what is recorded
            scripts[name] = {"error": type(error).__name__}
    record = {"tilelang": version("tilelang"), "command": "python tests/record_te_scripts.py", "scripts": scripts}
    path = HERE / "data" / "te_scripts.json"
    path.write_text(json.dumps(record, indent=0, sort_keys=True) + "\n")
    print(f"{path}: {len(scripts)} programs, {sum(isinstance(s, dict) for s in scripts.values())} refused")


if __name__ == "__main__":
    main()
