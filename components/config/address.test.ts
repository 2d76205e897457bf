import assert from "node:assert/strict";
import { test } from "node:test";

import { isHostOf, parseAddress, parseCidr } from "./address.ts";

test("an address is four octets without leading zeros", () => {
  assert.equal(parseAddress("192.168.1.10"), 0xc0a8010a);
  assert.equal(parseAddress("255.255.255.255"), 0xffffffff);
  for (const text of [
    "192.168.1",
    "192.168.1.256",
    "192.168.01.1",
    "1.2.3.4.5",
    "bob",
    "::1",
    "",
  ]) {
    assert.equal(parseAddress(text), undefined, text);
  }
});

test("an address with a prefix gives its network", () => {
  assert.deepEqual(parseCidr("192.168.1.77/26"), {
    address: 0xc0a8014d,
    network: { base: 0xc0a80140, prefix: 26 },
  });
  for (const text of [
    "192.168.1.1",
    "192.168.1.1/0",
    "192.168.1.1/32",
    "1.2.3.4/24/24",
    "1.2.3.4/x",
  ]) {
    assert.equal(parseCidr(text), undefined, text);
  }
});

test("the first and the last address of a network are no hosts, except in a /31", () => {
  const network = { base: 0x0a000000, prefix: 30 };
  assert.deepEqual(
    [0, 1, 2, 3, 4].map((offset) => isHostOf(network, network.base + offset)),
    [false, true, true, false, false],
  );
  const link = { base: 0x0a000000, prefix: 31 };
  assert.deepEqual(
    [0, 1, 2].map((offset) => isHostOf(link, link.base + offset)),
    [true, true, false],
  );
});
