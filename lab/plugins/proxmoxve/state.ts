/** A container's state from what Proxmox answers. */

import { isObject, type Properties, type Value } from "../plugin/values.ts";
import type { ReportedInterface } from "./interfaces.ts";
import { gigabytes } from "./options.ts";
import { isOn, number, numbered, parseOptions, split, type Options } from "./parse.ts";

export interface Answers {
  readonly vmid: number;
  /** `GET config`. */
  readonly config: Properties;
  readonly running: boolean;
  readonly interfaces: readonly ReportedInterface[];
}

/** The state, over the prior one, which alone knows the template, timeouts and the like. */
export function stateFrom(prior: Properties, answers: Answers): Properties {
  const { config } = answers;
  const networks = numbered(config, "net").map(parseOptions("name"));
  const mountPoints = numbered(config, "mp").map(parseOptions("volume"));
  const devices = numbered(config, "dev").map(parseOptions("path"));
  return {
    ...prior,
    id: String(answers.vmid),
    vmId: answers.vmid,
    description: config["description"] ?? "",
    hookScriptFileId: config["hookscript"] ?? "",
    unprivileged: isOn(config["unprivileged"]),
    protection: isOn(config["protection"]),
    startOnBoot: isOn(config["onboot"]),
    template: isOn(config["template"]),
    started: answers.running,
    console: {
      enabled: config["console"] === undefined || isOn(config["console"]),
      ttyCount: number(config["tty"], 2),
      type: config["cmode"] ?? "tty",
    },
    cpu: {
      architecture: config["arch"] ?? "amd64",
      cores: number(config["cores"], 1),
      limit: number(config["cpulimit"], 0),
      units: number(config["cpuunits"], 0),
    },
    disk: diskOf(config),
    features: featuresOf(config),
    memory: {
      dedicated: number(config["memory"], 0),
      swap: number(config["swap"], 0),
    },
    initialization: initializationOf(prior, config, networks),
    networkInterfaces: networks.map(networkOf),
    mountPoints: mountPoints.map(mountPointOf),
    devicePassthroughs: devices.map(deviceOf),
    idmaps: idmapsOf(config),
    startup: startupOf(config),
    operatingSystem: {
      ...(isObject(prior["operatingSystem"]) ? prior["operatingSystem"] : {}),
      type: config["ostype"] ?? "",
    },
    tags: split(config["tags"])
      .map((tag) => tag.trim())
      .filter(Boolean)
      .sort(),
    environmentVariables: environmentOf(config),
    ...addressesOf(answers.interfaces),
  };
}

function diskOf(config: Properties): Properties {
  const rootfs = config["rootfs"];
  if (typeof rootfs !== "string") {
    return { datastoreId: "local", size: 4, mountOptions: [], pathInDatastore: "" };
  }
  const options = parseOptions("volume")(rootfs);
  const { volume = "" } = options;
  return {
    acl: options["acl"] === "1",
    datastoreId: volume.split(":")[0] ?? "",
    mountOptions: split(options["mountoptions"]),
    pathInDatastore: volume,
    quota: options["quota"] === "1",
    replicate: options["replicate"] === "1",
    size: Math.trunc(gigabytes(options["size"] ?? "0")),
  };
}

function featuresOf(config: Properties): Properties {
  const features = parseOptions("")(
    typeof config["features"] === "string" ? config["features"] : "",
  );
  return {
    fuse: features["fuse"] === "1",
    keyctl: features["keyctl"] === "1",
    mknod: features["mknod"] === "1",
    mounts: split(features["mount"]),
    nesting: features["nesting"] === "1",
  };
}

function initializationOf(
  prior: Properties,
  config: Properties,
  networks: readonly Options[],
): Properties {
  const before = isObject(prior["initialization"]) ? prior["initialization"] : {};
  const dnsBefore = isObject(before["dns"]) ? before["dns"] : {};
  const { searchdomain, nameserver } = config;
  const ipConfigs = networks
    .map(ipConfigOf)
    .filter(({ ipv4, ipv6 }) => ipv4 !== null || ipv6 !== null);
  return {
    userAccount: before["userAccount"] ?? null,
    dns:
      searchdomain === undefined && nameserver === undefined
        ? null
        : {
            domain: searchdomain ?? "",
            ...(typeof dnsBefore["server"] === "string" && dnsBefore["server"] !== ""
              ? { server: nameserver ?? "" }
              : { servers: split(nameserver, " ") }),
          },
    entrypoint: config["entrypoint"] ?? "",
    hostname: config["hostname"] ?? "",
    ipConfigs,
  };
}

function ipConfigOf(options: Options): Properties {
  const address = (ip: string, gateway: string): Properties | undefined =>
    options[ip] === undefined && options[gateway] === undefined
      ? undefined
      : { address: options[ip] ?? "", gateway: options[gateway] ?? "" };
  const ipv4 = address("ip", "gw");
  const ipv6 = address("ip6", "gw6");
  return { ipv4: ipv4 ?? null, ipv6: ipv6 ?? null };
}

function networkOf(options: Options): Properties {
  return {
    bridge: options["bridge"] ?? "",
    enabled: true,
    firewall: options["firewall"] === "1",
    hostManaged: options["host-managed"] === "1",
    macAddress: options["hwaddr"] ?? "",
    mtu: Number(options["mtu"] ?? 0),
    name: options["name"] ?? "",
    rateLimit: Number(options["rate"] ?? 0),
    vlanId: Number(options["tag"] ?? 0),
  };
}

function mountPointOf(options: Options): Properties {
  const { volume = "" } = options;
  return {
    acl: options["acl"] === "1",
    backup: options["backup"] === "1",
    mountOptions: split(options["mountoptions"]),
    path: options["mp"] ?? "",
    pathInDatastore: volume,
    quota: options["quota"] === "1",
    readOnly: options["ro"] === "1",
    replicate: options["replicate"] !== "0",
    shared: options["shared"] === "1",
    size: options["size"] ?? "",
    volume,
  };
}

function deviceOf(options: Options): Properties {
  return {
    denyWrite: options["deny-write"] === "1",
    gid: Number(options["gid"] ?? 0),
    mode: options["mode"] ?? "0660",
    path: options["path"] ?? "",
    uid: Number(options["uid"] ?? 0),
  };
}

// A hand-written `lxc.idmap` shows here and then as drift; no other raw key does.
function idmapsOf(config: Properties): Value {
  const raw = Array.isArray(config["lxc"]) ? config["lxc"] : [];
  return raw.flatMap((entry) => {
    if (!Array.isArray(entry) || entry[0] !== "lxc.idmap" || typeof entry[1] !== "string") {
      return [];
    }
    const [type, containerId, hostId, size] = entry[1].trim().split(/\s+/);
    return [
      {
        containerId: Number(containerId),
        hostId: Number(hostId),
        size: Number(size),
        type: type === "u" ? "uid" : "gid",
      },
    ];
  });
}

function startupOf(config: Properties): Value {
  if (typeof config["startup"] !== "string") {
    return null;
  }
  const { down, order, up } = parseOptions("order")(config["startup"]);
  return {
    downDelay: Number(down ?? -1),
    order: Number(order ?? -1),
    upDelay: Number(up ?? -1),
  };
}

function environmentOf(config: Properties): Properties {
  return Object.fromEntries(
    split(config["env"], "\0").map((pair) => {
      const [name = "", ...value] = pair.split("=");
      return [name, value.join("=")];
    }),
  );
}

function addressesOf(interfaces: readonly ReportedInterface[]): Properties {
  const first = (type: string): Properties =>
    Object.fromEntries(
      interfaces
        .filter(({ name }) => name !== "lo")
        .map(({ name, "ip-addresses": addresses = [] }): [string, string | undefined] => [
          name,
          addresses.find((one) => one["ip-address-type"] === type)?.["ip-address"],
        ])
        .filter((entry): entry is [string, string] => entry[1] !== undefined),
    );
  return { ipv4: first("inet"), ipv6: first("inet6") };
}
