/** IPv4 addresses and networks, as pure arithmetic on 32-bit numbers. */

const OCTET = "(25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)";
const ADDRESS = new RegExp(`^${OCTET}\\.${OCTET}\\.${OCTET}\\.${OCTET}$`);

export interface Network {
  /** First address of the network, as an unsigned number. */
  readonly base: number;
  readonly prefix: number;
}

/** The unsigned number of a dotted IPv4 address; undefined when it is not one. */
export function parseAddress(text: string): number | undefined {
  const match = ADDRESS.exec(text);
  if (!match) {
    return undefined;
  }
  return match.slice(1).reduce((value, octet) => value * 256 + Number(octet), 0);
}

/** Address and network of `192.168.1.20/24`; undefined when it is not in that form. */
export function parseCidr(text: string): { address: number; network: Network } | undefined {
  const [host, bits, ...more] = text.split("/");
  const address = parseAddress(host ?? "");
  const prefix = /^\d{1,2}$/.test(bits ?? "") ? Number(bits) : -1;
  if (address === undefined || prefix < 1 || prefix > 31 || more.length > 0) {
    return undefined;
  }
  const size = 2 ** (32 - prefix);
  return { address, network: { base: address - (address % size), prefix } };
}

/** Whether an address can be given to a machine of this network: neither its first nor its last. */
export function isHostOf(network: Network, address: number): boolean {
  const size = 2 ** (32 - network.prefix);
  const last = network.base + size - 1;
  // A /31 has two host addresses and neither network nor broadcast address (RFC 3021).
  return network.prefix === 31
    ? address >= network.base && address <= last
    : address > network.base && address < last;
}
