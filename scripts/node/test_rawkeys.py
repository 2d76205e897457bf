"""The pure editor of raw keys."""

from __future__ import annotations

import unittest

from berth_node.rawkeys import RawKey, edit, ownership

HIGH = RawKey("lxc.cgroup2.memory.high", "400")
PIDS = RawKey("lxc.cgroup2.pids.max", "512")
MOUNT = RawKey("lxc.mount.entry", "/rpool/berth/bob/home home/bob none rw,bind,create=dir 0 0")
WANTED = [HIGH, PIDS, MOUNT]
OURS = ownership(["home/bob"], ["/rpool/berth/bob", "/var/lib/berth"])

LINES = "\n".join(f"{raw.key}: {raw.value}" for raw in WANTED) + "\n"


class Edit(unittest.TestCase):
    """Text in, text out."""

    def test_table(self) -> None:
        cases = {
            "appended to a plain config": ("memory: 512\n", "memory: 512\n" + LINES),
            "an empty config": ("", LINES),
            "unchanged is the same text": (
                "a: 1\n" + LINES + "b: 2\n",
                "a: 1\n" + LINES + "b: 2\n",
            ),
            "a config without its last newline": ("memory: 512", "memory: 512\n" + LINES),
            "before the first section, which stays": (
                "memory: 512\n\n[s1]\nlxc.cgroup2.pids.max: 9\n",
                "memory: 512\n" + LINES + "\n[s1]\nlxc.cgroup2.pids.max: 9\n",
            ),
            "an old value is replaced": (
                "lxc.cgroup2.pids.max: 9\nmemory: 512\n",
                "memory: 512\n" + LINES,
            ),
            "a repeated key goes": (LINES + "lxc.cgroup2.pids.max: 9\n", LINES),
            "another order is put right": (
                "lxc.cgroup2.pids.max: 512\nlxc.cgroup2.memory.high: 400\n",
                LINES,
            ),
            "the other spelling of the parser": (
                "lxc.cgroup2.pids.max = 9\nlxc.cgroup2.pids.max=8\n",
                LINES,
            ),
            "foreign keys and mounts stay in order": (
                "lxc.cap.drop: a\nlxc.mount.entry: /srv srv none bind 0 0\nlxc.idmap: u 0 1 2\n",
                "lxc.cap.drop: a\nlxc.mount.entry: /srv srv none bind 0 0\nlxc.idmap: u 0 1 2\n"
                + LINES,
            ),
            "our mounts of old go, by source and by target": (
                "lxc.mount.entry: /var/lib/berth/old x none ro 0 0\n"
                "lxc.mount.entry: /elsewhere home/bob none rw 0 0\n",
                LINES,
            ),
            "a source with our name as a prefix is not ours": (
                "lxc.mount.entry: /rpool/berth/bobby x none rw 0 0\n",
                "lxc.mount.entry: /rpool/berth/bobby x none rw 0 0\n" + LINES,
            ),
            "a description stays where it is": (
                "# lxc.cgroup2.pids.max: 9\nmemory: 512\n",
                "# lxc.cgroup2.pids.max: 9\nmemory: 512\n" + LINES,
            ),
        }
        for name, (text, expected) in cases.items():
            with self.subTest(name):
                self.assertEqual(edit(text, WANTED, OURS), expected)
                self.assertEqual(edit(expected, WANTED, OURS), expected)

    def test_nothing_wanted_takes_ours_away(self) -> None:
        self.assertEqual(edit("memory: 512\n" + LINES, [], OURS), "memory: 512\n")


if __name__ == "__main__":
    unittest.main()
