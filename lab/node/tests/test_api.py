"""The HTTP API: authentication, errors, tasks, and the provider's requests (pitfalls 8.2)."""

from __future__ import annotations

import time
import unittest

from .support import CREATE, IAC, RAW, ApiTest

_LXC = "/nodes/pve1/lxc"
_CONFIG = _LXC + "/201/config"


class Authentication(ApiTest):
    def test_a_request_without_a_token_is_401(self) -> None:
        answer = self.api("GET", "/version", token=None)
        self.assertEqual((answer.status, answer.reason), (401, "No ticket"))

    def test_a_wrong_secret_is_401(self) -> None:
        answer = self.api("GET", "/version", token="root@pam!iac=wrong")  # noqa: S106
        self.assertEqual((answer.status, answer.reason), (401, "invalid token value!"))

    def test_an_unknown_token_is_401(self) -> None:
        answer = self.api("GET", "/version", token="root@pam!other=x")  # noqa: S106
        self.assertEqual(answer.reason, "no such token 'other' for user 'root@pam'")

    def test_the_version_is_that_of_a_ninth_release(self) -> None:
        data = self.api("GET", "/version").data or {}
        self.assertTrue(data["version"].startswith("9."))


class Requests(ApiTest):
    def test_an_unknown_method_is_501(self) -> None:
        answer = self.api("GET", "/nodes/pve1/ceph")
        self.assertEqual(answer.status, 501)
        self.assertEqual(answer.reason, "Method 'GET /nodes/pve1/ceph' not implemented")

    def test_an_unknown_parameter_is_400_and_named(self) -> None:
        answer = self.api("POST", _LXC, {**CREATE, "hostnam": "x"})
        self.assertEqual((answer.status, answer.reason), (400, "Parameter verification failed."))
        self.assertEqual(
            answer.body["errors"],
            {
                "hostnam": "property is not defined in schema and the schema does not allow "
                "additional properties"
            },
        )

    def test_all_faults_are_told_at_once(self) -> None:
        answer = self.api("POST", _LXC, {**CREATE, "memory": "8", "arch": "sparc", "tty": "x"})
        self.assertEqual(set(answer.body["errors"]), {"memory", "arch", "tty"})
        self.assertEqual(answer.body["errors"]["memory"], "value must have a minimum value of 16")

    def test_an_unknown_node_is_no_other_than_ours(self) -> None:
        answer = self.api("GET", "/nodes/pve9/lxc")
        self.assertEqual(answer.status, 500)
        self.assertTrue(answer.reason.startswith("hostname lookup 'pve9' failed"))

    def test_a_missing_container_is_500_and_does_not_exist(self) -> None:
        answer = self.api("GET", _CONFIG)
        self.assertEqual(answer.status, 500)
        self.assertEqual(
            answer.reason, "Configuration file 'nodes/pve1/lxc/201.conf' does not exist"
        )


class Life(ApiTest):
    def test_create_start_shutdown_destroy(self) -> None:
        self.assertEqual(self.finish(self.api("POST", _LXC, CREATE)), "OK")
        self.assertEqual(self.finish(self.api("POST", _LXC + "/201/status/start")), "OK")
        current = self.api("GET", _LXC + "/201/status/current").data or {}
        self.assertEqual((current["status"], current["name"]), ("running", "bob"))
        links = self.api("GET", _LXC + "/201/interfaces").data or []
        self.assertEqual(links[1]["ip-addresses"][0]["ip-address"], "10.210.0.101")
        refused = self.api("DELETE", _LXC + "/201")
        self.assertEqual(refused.reason, "unable to destroy CT 201 - container is running")
        self.assertEqual(
            self.finish(self.api("POST", _LXC + "/201/status/shutdown", {"timeout": 5})), "OK"
        )
        self.assertEqual(self.finish(self.api("DELETE", _LXC + "/201")), "OK")
        self.assertEqual(self.node.storage.volumes.names(), [])

    def test_a_taken_vmid_is_500_and_untouched(self) -> None:
        self.create()
        before = self.conf.read_bytes()
        answer = self.api("POST", _LXC, CREATE)
        self.assertEqual(
            (answer.status, answer.reason), (500, "CT 201 already exists on node 'pve1'")
        )
        self.assertEqual(self.conf.read_bytes(), before)

    def test_a_vm_on_another_node_takes_the_id_too(self) -> None:
        other = self.node.path("/etc/pve/nodes/pve2/qemu-server/201.conf")
        other.parent.mkdir(parents=True)
        other.write_text("name: theirs\n")
        answer = self.api("POST", _LXC, CREATE)
        self.assertEqual(answer.reason, "VM 201 already exists on node 'pve2'")

    def test_a_missing_template_fails_the_task_and_leaves_nothing(self) -> None:
        template = "local:vztmpl/nothing.tar.zst"
        outcome = self.finish(self.api("POST", _LXC, {**CREATE, "ostemplate": template}))
        self.assertEqual(outcome, f"unable to create CT 201 - volume '{template}' does not exist")
        self.assertFalse(self.conf.exists())
        self.assertEqual(self.node.storage.volumes.names(), [])

    def test_start_in_create_is_a_task_of_its_own(self) -> None:
        self.assertEqual(self.finish(self.api("POST", _LXC, {**CREATE, "start": "1"})), "OK")
        deadline = time.monotonic() + 10
        while not self.node.is_running(201) and time.monotonic() < deadline:
            time.sleep(0.02)
        kinds = [t["type"] for t in self.api("GET", "/nodes/pve1/tasks").data or []]
        self.assertEqual(sorted(kinds), ["vzcreate", "vzstart"])

    def test_a_locked_container_refuses(self) -> None:
        self.create()
        self.append("lock: create\n")
        self.assertEqual(self.api("PUT", _CONFIG, {"cores": 2}).reason, "CT is locked (create)")
        self.assertEqual(self.api("DELETE", _LXC + "/201").reason, "CT is locked (create)")

    def test_a_held_lock_ends_in_a_timeout(self) -> None:
        self.create()
        self.node.lock_timeout = 0.2
        with self.node.lock(201):
            answer = self.api("PUT", _CONFIG, {"cores": 2})
        self.assertEqual(
            answer.reason,
            "can't lock file '/run/lock/lxc/pve-config-201.lock' - got timeout",
        )

    def test_protection_refuses_destroy_and_a_change_of_a_disk(self) -> None:
        self.create(protection="1")
        self.assertEqual(
            self.api("DELETE", _LXC + "/201").reason,
            "can't remove CT 201 - protection mode enabled",
        )
        answer = self.api("PUT", _CONFIG, {"rootfs": "local-zfs:subvol-201-disk-0,size=4G"})
        self.assertEqual(
            answer.reason, "can't update CT 201 drive 'rootfs' - protection mode enabled"
        )

    def test_resize_grows_and_never_shrinks(self) -> None:
        self.create()
        resize = _LXC + "/201/resize"
        self.assertEqual(
            self.finish(self.api("PUT", resize, {"disk": "rootfs", "size": "6G"})), "OK"
        )
        self.assertIn("rootfs: local-zfs:subvol-201-disk-0,size=6G\n", self.conf.read_text())
        smaller = self.api("PUT", resize, {"disk": "rootfs", "size": "5G"})
        self.assertEqual(smaller.reason, "unable to shrink disk size")

    def test_a_volume_may_be_named_and_stand_last(self) -> None:
        # So the provider writes it.
        disks = {"rootfs": "acl=1,volume=local-zfs:2", "mp0": "mp=/data,volume=local-zfs:1"}
        self.assertEqual(self.finish(self.api("POST", _LXC, {**CREATE, **disks})), "OK")
        text = self.conf.read_text()
        self.assertIn("rootfs: local-zfs:subvol-201-disk-0,acl=1,size=2G\n", text)
        self.assertIn("mp0: local-zfs:subvol-201-disk-1,mp=/data,size=1G\n", text)
        self.assertEqual(self.finish(self.api("POST", _LXC + "/201/status/start")), "OK")


class Rights(ApiTest):
    """The table of pitfalls 8.2."""

    def test_a_token_of_root_may_not_bind(self) -> None:
        self.create()
        answer = self.api("PUT", _CONFIG, {"mp0": "/rpool/agents/bob,mp=/srv/b"})
        self.assertEqual(answer.status, 403)
        self.assertEqual(
            answer.reason,
            "Permission check failed (mount point type bind is only allowed for root@pam)",
        )

    def test_a_token_of_root_may_change_nesting_only(self) -> None:
        self.create()
        answer = self.api("PUT", _CONFIG, {"features": "nesting=1,keyctl=1"})
        self.assertEqual(answer.status, 403)
        self.assertIn(
            "changing feature flags (except nesting) is only allowed for root@pam", answer.reason
        )
        # The provider's update sends every flag: '' is not '0'.
        provider = {"features": "fuse=0,keyctl=0,nesting=1,mknod=0"}
        self.assertEqual(self.api("PUT", _CONFIG, provider).status, 403)
        self.pct_ok("start 201")
        self.assertEqual(self.api("PUT", _CONFIG, {"features": "nesting=0"}).status, 200)
        self.assertIn("[pve:pending]\nfeatures: nesting=0\n", self.conf.read_text())

    def test_a_token_of_root_may_not_set_a_hookscript_or_a_device(self) -> None:
        self.create()
        for params in ({"hookscript": "local:snippets/x.pl"}, {"dev0": "/dev/fuse"}):
            answer = self.api("PUT", _CONFIG, params)
            self.assertEqual(answer.status, 403)
            self.assertIn("only allowed for root@pam", answer.reason)

    def test_raw_keys_do_not_pass_the_api(self) -> None:
        self.create()
        for key in ("lxc", "lxc.cgroup2.pids.max"):
            answer = self.api("PUT", _CONFIG, {key: "256"})
            self.assertEqual(answer.status, 400)
            self.assertIn("property is not defined in schema", answer.body["errors"][key])

    def test_a_wrong_digest_is_500(self) -> None:
        self.create()
        answer = self.api("PUT", _CONFIG, {"cores": "2", "digest": "0" * 40})
        self.assertEqual(answer.status, 500)
        self.assertEqual(
            answer.reason,
            "detected modified configuration - file changed by other user? Try again.",
        )
        digest = (self.api("GET", _CONFIG).data or {})["digest"]
        self.assertEqual(self.api("PUT", _CONFIG, {"cores": "2", "digest": digest}).status, 200)

    def test_memory_over_the_api_overrides_the_raw_key_until_the_next_start(self) -> None:
        self.create()
        self.append(RAW)
        self.pct_ok("start 201")
        self.assertEqual(self.cgroup("memory.high"), "419430400")
        # Equal to the old value: Proxmox drops it from the pending changes and writes nothing.
        self.assertEqual(self.api("PUT", _CONFIG, {"memory": "640"}).status, 200)
        self.assertEqual(self.api("PUT", _CONFIG, {"memory": "512"}).status, 200)
        self.assertEqual(self.cgroup("memory.high"), "532676608")
        self.pct_ok("reboot 201")
        self.assertEqual(self.cgroup("memory.high"), "419430400")

    def test_a_role_creates_and_deletes_but_neither_binds_nor_snapshots(self) -> None:
        self.assertEqual(self.finish(self.api("POST", _LXC, CREATE, token=IAC)), "OK")
        bind = {"mp0": "/rpool/agents/bob,mp=/srv/b"}
        self.assertEqual(self.api("PUT", _CONFIG, bind, token=IAC).status, 403)
        snapshot = self.api("POST", _LXC + "/201/snapshot", {"snapname": "s1"}, token=IAC)
        self.assertEqual(snapshot.status, 403)
        self.assertEqual(snapshot.reason, "Permission check failed (/vms/201, VM.Snapshot)")
        self.assertEqual(self.finish(self.api("DELETE", _LXC + "/201", token=IAC)), "OK")

    def test_raw_keys_show_in_config_and_not_in_pending(self) -> None:
        self.create()
        self.append(RAW)
        config = self.api("GET", _CONFIG).data or {}
        self.assertEqual(config["lxc"][0], ["lxc.cgroup2.memory.high", "419430400"])
        self.assertEqual((config["memory"], config["unprivileged"]), (512, 1))
        pending = self.api("GET", _LXC + "/201/pending").data or []
        self.assertNotIn("lxc", {item["key"] for item in pending})


class Cluster(ApiTest):
    def test_resources_list_foreign_guests_too(self) -> None:
        self.create()
        other = self.node.path("/etc/pve/nodes/pve2/lxc/105.conf")
        other.parent.mkdir(parents=True)
        other.write_text("hostname: theirs\n")
        data = self.api("GET", "/cluster/resources", {"type": "vm"}).data or []
        self.assertEqual(
            sorted((item["id"], item["node"]) for item in data),
            [("lxc/105", "pve2"), ("lxc/201", "pve1")],
        )

    def test_nextid_refuses_a_taken_one(self) -> None:
        self.create()
        answer = self.api("GET", "/cluster/nextid", {"vmid": 201})
        self.assertEqual(answer.status, 400)
        self.assertEqual(answer.body["errors"], {"vmid": "VM 201 already exists"})
        self.assertEqual(self.api("GET", "/cluster/nextid").data, "100")

    def test_templates_are_listed(self) -> None:
        path = "/nodes/pve1/storage/local/content"
        data = self.api("GET", path, {"content": "vztmpl"}).data or []
        self.assertEqual([item["format"] for item in data], ["tzst"])


if __name__ == "__main__":
    unittest.main()
