"""prepare.py as a process, against a make-believe node."""

from __future__ import annotations

import os
import unittest
from typing import Any

from test_node_fixture import NodeTest

CONF = "etc/pve/nodes/pve1/lxc/201.conf"
# As root the home is given to a mapped id; without root it can only be one's own.
UID = 10201
BASE = 100_000


class Prepare(NodeTest):
    """The checks before a container exists, and the home's dataset."""

    def setUp(self) -> None:
        super().setUp()
        if os.geteuid() != 0:
            self.skipTest("gives the home to another user, which needs root")
        os.chown(self.root / "rpool/berth/bob/home", BASE + UID, BASE + UID)

    def prepare(self, **changes: Any) -> Any:
        document = {
            "agent": "bob",
            "stack": "lab",
            "node": "pve1",
            "vmid": 201,
            "dataset": "rpool/berth/bob",
            "quota": 10 << 30,
            "uid": UID,
            "idmapBase": BASE,
            "container": {"cores": 2},
            **changes,
        }
        return self.run_script("node/prepare.py", stdin=document)

    def refuse(self, *parts: str, **changes: Any) -> None:
        self.assert_fails(self.prepare(**changes), 1, *parts)
        self.assertEqual([call for call in self.calls() if not call.startswith("zfs get")], [])

    def test_all_in_place_changes_nothing(self) -> None:
        done = self.prepare()
        self.assertEqual(done.code, 0, done.stderr)
        home = "/rpool/berth/bob/home"
        self.assertEqual(done.answer, {"dataset": "rpool/berth/bob", "home": home})
        self.assertEqual(len(self.calls()), 1)
        self.assertEqual((self.root / "rpool/berth/bob").stat().st_mode & 0o777, 0o711)
        self.assertEqual((self.root / "rpool/berth/bob/home").stat().st_mode & 0o777, 0o700)

    def test_a_new_home_has_quota_labels_owner_and_modes(self) -> None:
        os.rmdir(self.root / "rpool/berth/bob/home")
        os.rmdir(self.root / "rpool/berth/bob")
        os.unlink(self.root / CONF)
        self.datasets({"rpool/berth": {}})
        done = self.prepare()
        self.assertEqual(done.code, 0, done.stderr)
        self.assertEqual(
            self.calls()[1],
            f"zfs create -o refquota={10 << 30} -o berth:stack=lab -o berth:agent=bob "
            "rpool/berth/bob",
        )
        home = (self.root / "rpool/berth/bob/home").stat()
        self.assertEqual((home.st_uid, home.st_gid), (BASE + UID, BASE + UID))
        self.assertEqual(home.st_mode & 0o777, 0o700)

    def test_a_changed_quota_is_set(self) -> None:
        self.assertEqual(self.prepare(quota=20 << 30).code, 0)
        self.assertEqual(self.calls()[1], f"zfs set refquota={20 << 30} rpool/berth/bob")

    def test_an_unmounted_dataset_is_mounted(self) -> None:
        os.rmdir(self.root / "rpool/berth/bob/home")
        self.datasets({"rpool/berth": {}, "rpool/berth/bob": {**self.labels(), "mounted": "no"}})
        self.assertEqual(self.prepare().code, 0)
        self.assertEqual(self.calls()[1], "zfs mount rpool/berth/bob")

    def test_a_virtual_machine_with_the_id_is_refused(self) -> None:
        os.unlink(self.root / CONF)
        self.put_conf("name: win11\nmemory: 4096\n", "pve2/qemu-server/201")
        self.refuse("VMID 201 is taken", "virtual machine 'win11' on node 'pve2'")

    def test_a_foreign_container_on_another_node_is_refused(self) -> None:
        os.unlink(self.root / CONF)
        self.put_conf(self.conf(hostname="web", tags="shop"), "pve2/lxc/201")
        self.refuse("VMID 201 is taken", "container 'web' on node 'pve2'", "another `vmid`")

    def test_ours_on_another_node_is_refused(self) -> None:
        os.unlink(self.root / CONF)
        self.put_conf(self.conf(), "pve2/lxc/201")
        self.refuse("is on node 'pve2', not on 'pve1'")

    def test_tags_in_a_snapshot_do_not_make_it_ours(self) -> None:
        self.put_conf("hostname: bob\n\n[s1]\nhostname: bob\ntags: berth;berth-lab\n")
        self.refuse("VMID 201 is taken")

    def test_a_half_made_container_of_ours_is_refused_with_the_remedy(self) -> None:
        self.put_conf(self.conf(lock="create"))
        self.refuse("is half made", "pct unlock 201 && pct destroy 201")

    def test_another_node_is_refused(self) -> None:
        self.refuse("this is node 'pve1'", node="pve2")

    def test_a_dataset_of_another_stack_is_refused(self) -> None:
        self.datasets({"rpool/berth": {}, "rpool/berth/bob": self.labels(stack="prod")})
        self.refuse("'rpool/berth/bob' is not this agent's", "berth:stack=prod")

    def test_a_dataset_without_labels_is_refused(self) -> None:
        self.datasets({"rpool/berth": {}, "rpool/berth/bob": {}})
        self.refuse("is not this agent's", "zfs set berth:stack=lab berth:agent=bob")

    def test_files_under_an_unmounted_mount_point_are_listed(self) -> None:
        self.put("rpool/berth/bob/notes.md", "old")
        self.datasets({"rpool/berth": {}, "rpool/berth/bob": {**self.labels(), "mounted": "no"}})
        self.refuse("would hide files", "/rpool/berth/bob/home, /rpool/berth/bob/notes.md")

    def test_files_where_a_new_dataset_would_be_mounted_are_listed(self) -> None:
        self.datasets({"rpool/berth": {}})
        self.refuse("would hide files: /rpool/berth/bob/home")

    def test_a_home_of_another_owner_is_refused_with_the_command(self) -> None:
        self.put("rpool/berth/bob/home/notes.md")
        os.chown(self.root / "rpool/berth/bob/home", 100_999, 100_999)
        self.refuse("belongs to 100999:100999", "chown -R -h --from=100999 110201:110201")

    def test_an_empty_home_changes_its_owner(self) -> None:
        os.chown(self.root / "rpool/berth/bob/home", 0, 0)
        self.assertEqual(self.prepare().code, 0)
        self.assertEqual((self.root / "rpool/berth/bob/home").stat().st_uid, BASE + UID)

    def test_a_home_that_is_a_link_is_not_followed(self) -> None:
        os.rmdir(self.root / "rpool/berth/bob/home")
        (self.root / "rpool/berth/bob/home").symlink_to("/etc")
        self.refuse("making /rpool/berth/bob/home")

    def test_a_dataset_that_does_not_mount_itself_is_refused(self) -> None:
        found = {**self.labels(), "mountpoint": "legacy"}
        self.datasets({"rpool/berth": {}, "rpool/berth/bob": found})
        self.refuse("does not mount itself", "zfs inherit mountpoint")

    def test_a_dataset_that_is_mounted_elsewhere_is_refused(self) -> None:
        found = {**self.labels(), "mountpoint": "/mnt/tank/berth/bob"}
        self.datasets({"rpool/berth": {}, "rpool/berth/bob": found})
        self.refuse("/mnt/tank/berth/bob, not at /rpool/berth/bob", "mountpoint=/rpool/berth/bob")

    def test_faults_of_the_document(self) -> None:
        for changes, expected in (
            ({"uid": 0}, "uid: expected 1000 to 65534"),
            ({"quota": 1}, "quota: expected"),
            ({"dataset": "rpool"}, "dataset: expected a dataset"),
            ({"dataset": "rpool/../x"}, "dataset: expected a dataset"),
            ({"agent": "-f"}, "agent: expected a name"),
            ({"container": None}, "container: expected an object"),
        ):
            with self.subTest(expected):
                self.assert_fails(self.prepare(**changes), 64, expected)


if __name__ == "__main__":
    unittest.main()
