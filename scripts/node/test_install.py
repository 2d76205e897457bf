"""install.py, both as a program and exec()ed out of its own document."""

from __future__ import annotations

import os
import sys
import unittest
from pathlib import Path
from typing import Any

from test_node_fixture import NodeTest

NODE = Path(__file__).resolve().parent
BOOTSTRAP = (
    "import json,sys; d = json.load(sys.stdin); "
    "exec(compile(d['files']['node/install.py']['content'], 'install.py', 'exec'), "
    "{'__name__': '__main__', 'DOCUMENT': d})"
)
TEMPLATE = "local:vztmpl/debian-13-standard_13.1-2_amd64.tar.zst"


class Install(NodeTest):
    """Runtimes, dataset, template."""

    def setUp(self) -> None:
        super().setUp()
        self.fake("pveam", f'test "$1" != list || echo "{TEMPLATE}  120MB"')

    def document(self, **changes: Any) -> dict[str, Any]:
        sources = sorted([*NODE.glob("*.py"), *NODE.glob("berth_node/*.py")])
        files = {
            f"node/{path.relative_to(NODE)}": {
                "mode": "0755" if os.access(path, os.X_OK) else "0644",
                "content": path.read_text(encoding="utf-8"),
            }
            for path in sources
            if not path.name.startswith("test_")
        }
        files["guest/gate.py"] = {"mode": "0755", "content": "print('gate')\n"}
        return {
            "node": "pve1",
            "stack": "lab",
            "pool": "rpool/berth",
            "template": TEMPLATE,
            "nodeHash": "0" * 11 + "a",
            "guestHash": "0" * 11 + "b",
            "files": files,
            **changes,
        }

    def install(self, **changes: Any) -> Any:
        return self.run_command([sys.executable, "-c", BOOTSTRAP], self.document(**changes))

    def test_from_the_document_on_a_bare_node(self) -> None:
        done = self.install()
        self.assertEqual(done.code, 0, done.stderr)
        self.assertEqual(
            done.answer, {"node": "pve1", "nodeHash": "0" * 11 + "a", "guestHash": "0" * 11 + "b"}
        )
        node = self.root / "var/lib/berth/node" / ("0" * 11 + "a")
        self.assertEqual((node / "apply.py").stat().st_mode & 0o777, 0o755)
        gate = self.root / "var/lib/berth/guest" / ("0" * 11 + "b") / "gate.py"
        self.assertEqual(gate.read_text(), "print('gate')\n")
        for directory in (gate.parent, *gate.parents[1:4]):
            self.assertEqual(directory.stat().st_mode & 0o777, 0o755, directory)
        self.assertEqual((self.root / "rpool/berth").stat().st_mode & 0o777, 0o711)
        # What was installed works from where it is.
        applied = self.run_command([str(node / "apply.py")], NodeTest.document(self))
        self.assertEqual(applied.code, 0, applied.stderr)

    def test_as_a_program(self) -> None:
        done = self.run_script("node/install.py", stdin=self.document())
        self.assertEqual(done.code, 0, done.stderr)

    def test_a_second_run_leaves_the_files_alone(self) -> None:
        self.assertEqual(self.install().code, 0)
        gate = self.root / "var/lib/berth/guest" / ("0" * 11 + "b") / "gate.py"
        before = gate.stat()
        self.calls()
        self.assertEqual(self.install().code, 0)
        self.assertEqual(gate.stat().st_ino, before.st_ino)
        self.assertEqual([call.split()[:2] for call in self.calls()][1:], [["pveam", "list"]])

    def test_a_damaged_runtime_is_repaired(self) -> None:
        self.assertEqual(self.install().code, 0)
        runtime = self.root / "var/lib/berth/guest" / ("0" * 11 + "b")
        (runtime / "gate.py").write_text("broken")
        (runtime / "gate.py").chmod(0o600)
        (runtime / "stray.py").write_text("stray")
        self.assertEqual(self.install().code, 0)
        self.assertEqual((runtime / "gate.py").read_text(), "print('gate')\n")
        self.assertEqual((runtime / "gate.py").stat().st_mode & 0o777, 0o755)
        self.assertFalse((runtime / "stray.py").exists())

    def test_old_runtimes_go_but_those_in_use_stay(self) -> None:
        for index in range(6):
            runtime = self.root / f"var/lib/berth/guest/00000000000{index}"
            runtime.mkdir(parents=True)
            os.utime(runtime, (index, index))
        self.put("var/lib/berth/agents/201.json", '{"document": {"guestHash": "000000000001"}}')
        self.assertEqual(self.install().code, 0)
        left = sorted(path.name for path in (self.root / "var/lib/berth/guest").iterdir())
        self.assertEqual(left, ["000000000001", "000000000004", "000000000005", "0" * 11 + "b"])

    def test_the_dataset_is_made_when_it_is_missing(self) -> None:
        self.datasets({"rpool": {}})
        (self.root / "rpool/berth/bob/home").rmdir()
        (self.root / "rpool/berth/bob").rmdir()
        self.assertEqual(self.install().code, 0)
        self.assertIn("zfs create rpool/berth", self.calls())

    def test_a_missing_pool_is_said(self) -> None:
        self.datasets({})
        self.assert_fails(self.install(), 1, "the dataset 'rpool' is not on this node")

    def test_the_template_is_downloaded_when_it_is_missing(self) -> None:
        self.fake("pveam")
        self.assertEqual(self.install().code, 0)
        name = TEMPLATE.rpartition("/")[2]
        expected = ["pveam list local", "pveam update", f"pveam download local {name}"]
        self.assertEqual(self.calls()[1:], expected)

    def test_another_node_is_refused_before_the_dataset(self) -> None:
        self.assert_fails(self.install(node="pve2"), 1, "this is node 'pve1'")
        self.assertEqual(self.calls(), [])

    def test_faults_of_the_document(self) -> None:
        escape = {**self.document()["files"], "node/../../etc/x": {"mode": "0644", "content": ""}}
        cases: list[tuple[dict[str, Any], str]] = [
            ({"files": escape}, "'node/../../etc/x' is no path below"),
            ({"nodeHash": "../x"}, "nodeHash: expected a hash"),
            ({"pool": "-x/y"}, "pool: expected a dataset"),
            ({"template": "debian"}, "template: expected a template"),
            ({"extra": 1}, "extra: unknown key"),
        ]
        for changes, expected in cases:
            with self.subTest(expected):
                self.assert_fails(self.install(**changes), 64, expected)
        self.assertFalse(self.exists("var/lib/berth/etc"))


if __name__ == "__main__":
    unittest.main()
