import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { ApiError, reasonOf } from "./client.ts";
import { decodeConfig, clientSettings, checkConfig } from "./provider.ts";
import { isTransient, repeat } from "./tasks.ts";

const TOKEN = "root@pam!berth=secret";

describe("an error", () => {
  test("has the status line's reason and what the body adds", () => {
    const body = JSON.stringify({ errors: { memory: "too small\n" }, message: "Bad.\n" });
    assert.equal(reasonOf("Bad.", body), "Bad. (memory: too small)");
    assert.equal(reasonOf("Bad.", "no json"), "Bad.");
    assert.equal(reasonOf("Bad.", JSON.stringify({ message: "Bad.\nmore\n" })), "Bad. (more)");
  });

  test("says whether the resource is missing", () => {
    assert.ok(new ApiError(404, "x").isMissing);
    assert.ok(new ApiError(500, "Configuration file 'x' does not exist").isMissing);
    assert.ok(!new ApiError(500, "CT 201 already exists").isMissing);
  });

  test("of the server passes, one of the caller does not", () => {
    assert.ok(isTransient(new ApiError(500, "x")));
    assert.ok(!isTransient(new ApiError(403, "x")));
    assert.ok(isTransient(new Error("can't lock file - got timeout")));
  });
});

describe("a repeated request", () => {
  async function send(
    ...outcomes: (Error | string)[]
  ): Promise<{ result: unknown; waits: number[] }> {
    const waits: number[] = [];
    const deadline = {
      isOver: false,
      pause: (ms: number) => {
        waits.push(ms);
        return Promise.resolve();
      },
    };
    const retry = {
      when: isTransient,
      done: (error: unknown) => /already exists/.test(String(error)),
    };
    const result = await repeat(retry, deadline, () => {
      const outcome = outcomes.shift() ?? "none left";
      return outcome instanceof Error ? Promise.reject(outcome) : Promise.resolve(outcome);
    }).catch((error: unknown) => String(error));
    return { result, waits };
  }
  const taken = new ApiError(500, "CT 201 already exists");

  test("waits one second and then two, and gives up after three", async () => {
    const busy = new ApiError(500, "busy");
    assert.deepEqual((await send(busy, busy, "upid")).waits, [1000, 2000]);
    const { result } = await send(busy, busy, busy);
    assert.match(String(result), /All attempts fail:\n#1: .*busy\n#2: .*busy\n#3: .*busy/);
  });

  test("takes what is there for its own work, but not at the first time", async () => {
    assert.equal((await send(taken, taken)).result, undefined);
    assert.equal((await send("upid")).result, "upid");
  });

  test("is not repeated when it would not help", async () => {
    const { result, waits } = await send(new ApiError(403, "no"));
    assert.deepEqual(waits, []);
    assert.match(String(result), /HTTP 403/);
  });
});

describe("the provider's configuration", () => {
  const config = { endpoint: "https://pve1:8006/", apiToken: TOKEN, insecure: "true" };

  test("is decoded from the SDK's JSON", () => {
    assert.deepEqual(decodeConfig({ ...config, ssh: '{"agent":true}' }), {
      ...config,
      insecure: true,
      ssh: { agent: true },
    });
    assert.deepEqual(clientSettings(config, {}), {
      endpoint: "https://pve1:8006/",
      apiToken: TOKEN,
      insecure: true,
      minTls: "1.3",
    });
  });

  test("falls back on the environment", () => {
    const environment = { PROXMOX_VE_ENDPOINT: "https://pve2:8006", PROXMOX_VE_API_TOKEN: TOKEN };
    assert.partialDeepStrictEqual(clientSettings({}, environment), {
      endpoint: "https://pve2:8006",
      insecure: false,
    });
  });

  test("wants an address over TLS and a token", () => {
    assert.throws(
      () => clientSettings({ ...config, endpoint: "http://pve1" }, {}),
      /secure endpoint/,
    );
    assert.throws(() => clientSettings({ endpoint: config.endpoint }, {}), /apiToken/);
  });

  test("knows its names only", () => {
    const { failures } = checkConfig({ ...config, endpointt: "x", version: "8.6.0" });
    assert.deepEqual(
      failures.map(({ property }) => property),
      ["endpointt"],
    );
  });
});
