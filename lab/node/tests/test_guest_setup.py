"""What is written into a guest's tree, and that a hostile tree leads nowhere."""

from __future__ import annotations

import shutil
import tempfile
import unittest
from pathlib import Path

from pvelab.config import Config
from pvelab.guest_setup import GuestTree, before_start

from .support import NodeTest, run_program

NET = "name=eth0,bridge=vmbr0,ip=10.210.0.101/24,gw=10.210.0.1"


class Tree(unittest.TestCase):
    def setUp(self) -> None:
        self.root = Path(tempfile.mkdtemp(prefix="pvelab-"))
        self.addCleanup(shutil.rmtree, self.root)
        (self.root / "etc/network").mkdir(parents=True)
        self.config = Config({"ostype": "debian", "hostname": "bob", "net0": NET})

    def prepare(self) -> None:
        """What a start does."""
        before_start(GuestTree(self.root, 0), self.config, "nameserver 10.0.0.53\n")

    def text(self, path: str) -> str:
        """A file of the guest."""
        return (self.root / path).read_text()

    def test_ifupdown_gets_our_stanzas_and_keeps_the_others(self) -> None:
        interfaces = self.root / "etc/network/interfaces"
        interfaces.write_text(
            "# mine\nauto lo\niface lo inet loopback\n\n"
            "auto eth0\niface eth0 inet static\n\taddress 10.0.0.9/8\n\niface eth1 inet dhcp\n"
        )
        expected = (
            "# mine\nauto lo\niface lo inet loopback\n\niface eth1 inet dhcp\n\n"
            "auto eth0\niface eth0 inet static\n"
            "\taddress 10.210.0.101/24\n\tgateway 10.210.0.1\n\n"
        )
        for _ in range(2):
            self.prepare()
            self.assertEqual(interfaces.read_text(), expected)

    def test_without_ifupdown_networkd_gets_a_file(self) -> None:
        self.prepare()
        text = self.text("etc/systemd/network/eth0.network")
        self.assertIn("Address = 10.210.0.101/24\nGateway = 10.210.0.1\nDHCP = no\n", text)

    def test_name_hosts_and_dns(self) -> None:
        (self.root / "etc/hosts").write_text("127.0.0.1 localhost\n10.0.0.7 mine\n")
        self.prepare()
        self.prepare()
        self.assertEqual(self.text("etc/hostname"), "bob\n")
        self.assertEqual(
            self.text("etc/hosts"),
            "127.0.0.1 localhost\n10.0.0.7 mine\n# --- BEGIN PVE ---\n"
            "::1 localhost.localnet localhost\n10.210.0.101 bob\n# --- END PVE ---\n",
        )
        self.assertEqual(self.text("etc/resolv.conf"), "nameserver 10.0.0.53\n")
        self.config.options.update(nameserver="9.9.9.9 1.1.1.1", searchdomain="lab")
        self.prepare()
        self.assertEqual(
            self.text("etc/resolv.conf"), "search lab\nnameserver 9.9.9.9\nnameserver 1.1.1.1\n"
        )

    def test_a_symlink_is_replaced_and_a_linked_directory_refused(self) -> None:
        outside = self.root / "outside"
        outside.mkdir()
        (outside / "hostname").write_text("theirs")
        (self.root / "etc/hostname").symlink_to(outside / "hostname")
        self.prepare()
        self.assertEqual((outside / "hostname").read_text(), "theirs")
        self.assertEqual(self.text("etc/hostname"), "bob\n")
        shutil.rmtree(self.root / "etc")
        (self.root / "etc").symlink_to(outside)
        with self.assertRaises(OSError):
            self.prepare()
        self.assertEqual([path.name for path in outside.iterdir()], ["hostname"])


class Boot(NodeTest):
    def test_guests_start_in_order_with_onboot_only_and_stop_backwards(self) -> None:
        for vmid, options in (
            ("201", {"onboot": "1", "startup": "order=2"}),
            ("202", {"onboot": "1", "startup": "order=1"}),
            ("203", {"onboot": "0"}),
            ("204", {"onboot": "1"}),
        ):
            self.create(vmid=vmid, **options)
        started = run_program(self.root, "lab-guests", "start")
        self.assertEqual(
            started.stdout.splitlines(), [f"Starting CT {vmid}" for vmid in (202, 201, 204)]
        )
        self.assertEqual(self.node.driver.running(), {201, 202, 204})
        stopped = run_program(self.root, "lab-guests", "stop")
        self.assertEqual(
            [line.partition(" (")[0] for line in stopped.stdout.splitlines()],
            [f"Stopping CT {vmid}" for vmid in (204, 201, 202)],
        )
        self.assertEqual(self.node.driver.running(), set())

    def test_one_that_cannot_start_does_not_hold_the_others_up(self) -> None:
        self.create(onboot="1")
        self.create(vmid="202", onboot="1")
        self.append("lock: backup\n")
        started = run_program(self.root, "lab-guests", "start", exit_code=1)
        self.assertIn("CT is locked (backup)", started.stderr)
        self.assertEqual(self.node.driver.running(), {202})


if __name__ == "__main__":
    unittest.main()
