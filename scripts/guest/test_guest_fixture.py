"""The make-believe guest that the tests of scripts/guest share."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from test_support import SandboxTest

# Root becomes the agent for real; without root, the agent is whoever runs the tests.
UID = os.geteuid() or 10201
MANAGER = f"sys/fs/cgroup/user.slice/user-{UID}.slice/user@{UID}.service"
SLICE = f"{MANAGER}/berth.slice/berth-sessions.slice"
TIMER = "berth-loop-hello.timer"
RECORD = "var/lib/berth/manifest.json"

FAKE_SYSTEMCTL = """
case "$*" in
'--global enable'*)
  mkdir -p "$BERTH_ROOT/etc/systemd/user/timers.target.wants"
  for unit; do :; done
  ln -sf "../$unit" "$BERTH_ROOT/etc/systemd/user/timers.target.wants/$unit"
  ;;
'--global disable'*)
  for unit; do :; done
  rm "$BERTH_ROOT/etc/systemd/user/timers.target.wants/$unit"
  ;;
'mask -- '*) for unit; do :; done; mkdir -p "$BERTH_ROOT/etc/systemd/system"
  ln -sf /dev/null "$BERTH_ROOT/etc/systemd/system/$unit" ;;
start*) mkdir -p "$BERTH_ROOT/run/user/@UID@/systemd"
  : >"$BERTH_ROOT/run/user/@UID@/systemd/private" ;;
is-active*) echo inactive; exit 3 ;;
esac
""".replace("@UID@", str(UID))


class GuestTest(SandboxTest):
    """A guest with the user bob, an empty home and no user manager yet."""

    def setUp(self) -> None:
        super().setUp()
        self.put("etc/passwd", f"root:x:0:0::/root:/bin/sh\nbob:x:{UID}:{UID}::/home/bob:/bin/sh\n")
        self.put("etc/group", f"root:x:0:\nsudo:x:27:carol\nbob:x:{UID}:\n")
        self.put("etc/skel/.profile", "# profile\n")
        self.put("usr/sbin/sshd", '#!/bin/sh\necho sshd >>"$BERTH_ROOT/calls"\n', 0o755)
        self.put("etc/ssh/ssh_host_rsa_key.pub", "ssh-rsa BBBB root@bob\n")
        self.put("etc/ssh/ssh_host_ed25519_key.pub", "ssh-ed25519 AAAA root@bob\n")
        home = self.root / "home/bob"
        home.mkdir(parents=True)
        os.chown(home, UID, -1)
        self.fake("systemctl", FAKE_SYSTEMCTL)
        self.fake(
            "loginctl",
            'mkdir -p "$BERTH_ROOT/var/lib/systemd/linger"; '
            ': >"$BERTH_ROOT/var/lib/systemd/linger/$2"',
        )
        # A package is installed when the list of the sandbox has it.
        self.fake(
            "dpkg-query",
            'shift 2; for p; do grep -qx "$p" "$BERTH_ROOT/installed" && echo "$p installed"; done',
        )
        self.fake("apt-get", 'for p; do :; done; echo "$p" >>"$BERTH_ROOT/installed"')
        self.put("installed", "git\n")
        # The agent's child process writes no log of root's, so both may.
        self.put("calls", mode=0o666)

    def manifest(self, **changes: Any) -> dict[str, Any]:
        """A manifest for bob with one loop."""
        files = {
            "/etc/berth/gate": {"mode": "0755", "content": "#!/bin/sh\n"},
            "/etc/systemd/user/berth-loop-hello.service": {"mode": "0644", "content": "s\n"},
            "/etc/systemd/user/berth-loop-hello.timer": {"mode": "0644", "content": "t\n"},
            "/home/bob/notes.md": {"mode": "0600", "content": "notes\n", "owner": "agent"},
        }
        return {
            "agent": "bob",
            "user": {"name": "bob", "uid": UID, "home": "/home/bob"},
            "packages": ["git"],
            "files": files,
            "timers": ["berth-loop-hello.timer"],
            "mask": ["tmp.mount"],
            **changes,
        }


class ManifestTest(GuestTest):
    """What the tests below share."""

    def apply(self, manifest: Any = None, **changes: Any) -> Any:
        return self.run_script("guest/manifest.py", stdin=manifest or self.manifest(**changes))

    def settled(self) -> dict[str, Any]:
        """A guest that was brought to its manifest; returns that manifest."""
        done = self.apply()
        self.assertEqual(done.code, 0, done.stderr)
        self.calls()
        self.put("calls", mode=0o666)
        return self.manifest()

    def changed(self, manifest: dict[str, Any], path: str, content: str) -> dict[str, Any]:
        manifest["files"][path] = {"mode": "0644", "content": content}
        return manifest
