import { createHash } from "node:crypto";

/** When loops run: calendar expressions for systemd timers, the same at every rendering. */

const DAY = 86_400;

/**
 * Seconds from 1 to `limit - 1` that belong to one agent and loop for good, so that agents do not
 * wake together and a reinstalled timer keeps its times.
 */
export function stableOffset(agent: string, loop: string, limit: number): number {
  const digest = createHash("sha256").update(`${agent}/${loop}`).digest();
  return 1 + (digest.readUInt32BE(0) % (limit - 1));
}

/**
 * The times of a loop that runs every `period` seconds, as `OnCalendar=` values in UTC.
 *
 * A calendar is the anchor because a monotonic timer has none after it was reinstalled, and UTC
 * because a wall-clock time may not exist, or twice, when summer time starts or ends.
 *
 * @param period - seconds; whole minutes that divide a day evenly.
 * @param offset - seconds after midnight of the first run of a day, less than `period`.
 */
export function everyCalendar(period: number, offset: number): string[] {
  if (period % 60 !== 0 || DAY % period !== 0 || offset < 0 || offset >= period) {
    throw new RangeError(
      `no daily times for a period of ${String(period)} s and offset ${String(offset)} s`,
    );
  }
  const [hour, minute, second] = clock(offset);
  if (3600 % period === 0) {
    const minutes = period === 3600 ? minute : `${minute}/${String(period / 60)}`;
    return [`*-*-* *:${minutes}:${second} UTC`];
  }
  if (period % 3600 === 0) {
    const hours = period === DAY ? hour : `${hour}/${String(period / 3600)}`;
    return [`*-*-* ${hours}:${minute}:${second} UTC`];
  }
  // 45 min and its like share no minute of the hour: each run of the day is named.
  return Array.from({ length: DAY / period }, (_, run) => {
    const [h, m, s] = clock(offset + run * period);
    return `*-*-* ${h}:${m}:${s} UTC`;
  });
}

function clock(seconds: number): [string, string, string] {
  const two = (value: number) => String(Math.floor(value)).padStart(2, "0");
  return [two(seconds / 3600), two((seconds % 3600) / 60), two(seconds % 60)];
}
