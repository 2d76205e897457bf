/** OpenSSH client configuration and known hosts for the operator. */

export interface SshHost {
  /** Name that the operator types. */
  readonly alias: string;
  readonly address: string;
  readonly port: number;
  readonly user: string;
  /** Public host keys, as in a .pub file. */
  readonly hostKeys: readonly string[];
  /** Alias of the host to go through. */
  readonly through?: string;
}

export interface SshFiles {
  readonly knownHostsFile: string;
  readonly identityFile?: string | undefined;
}

/**
 * A configuration that needs no other file but the known hosts: every host key is pinned under the
 * host's alias, so that a rebuilt machine replaces its own line only.
 */
export function sshConfig(hosts: readonly SshHost[], files: SshFiles): string {
  const gateways = new Set(hosts.map((host) => host.through));
  const common = [
    "  StrictHostKeyChecking yes",
    `  UserKnownHostsFile ${quoted(files.knownHostsFile)}`,
    "  UpdateHostKeys no",
    "  ServerAliveInterval 15",
    ...(files.identityFile === undefined
      ? []
      : [`  IdentityFile ${quoted(files.identityFile)}`, "  IdentitiesOnly yes"]),
  ];
  const blocks = hosts.map((host) =>
    [
      `Host ${host.alias}`,
      `  HostName ${host.address}`,
      `  Port ${String(host.port)}`,
      `  User ${host.user}`,
      `  HostKeyAlias ${host.alias}`,
      ...(host.through === undefined ? [] : [`  ProxyJump ${host.through}`]),
      ...(gateways.has(host.alias) ? sharing(files.knownHostsFile) : []),
      ...common,
    ].join("\n"),
  );
  return `${blocks.join("\n\n")}\n`;
}

/** Lines for UserKnownHostsFile, one a key, named by alias. Comments of the keys are left out. */
export function knownHosts(hosts: readonly SshHost[]): string {
  const lines = hosts.flatMap((host) =>
    host.hostKeys.map((key) => `${host.alias} ${key.split(" ").slice(0, 2).join(" ")}`),
  );
  return lines.length === 0 ? "" : `${lines.join("\n")}\n`;
}

/**
 * Logins to agents share one connection to the node they go through, so that each pays for one
 * handshake, not for two. The socket is beside the known hosts: a directory that is there and the
 * operator's own; named by alias, because the path of a socket may have 108 bytes at most.
 */
function sharing(knownHostsFile: string): string[] {
  const directory = knownHostsFile.slice(0, knownHostsFile.lastIndexOf("/") + 1);
  return [
    "  ControlMaster auto",
    `  ControlPath ${quoted(`${directory}berth-%n`)}`,
    "  ControlPersist 60",
  ];
}

function quoted(path: string): string {
  return /\s/.test(path) ? `"${path}"` : path;
}
