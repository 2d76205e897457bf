/** Sizes with IEC units and systemd time spans, as the config writes them. */

const SIZE_UNITS = { B: 1, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30, TiB: 2 ** 40 } as const;
const SIZE = /^(\d+(?:\.\d+)?)\s?(B|KiB|MiB|GiB|TiB)$/;

const SECONDS = {
  s: 1,
  sec: 1,
  m: 60,
  min: 60,
  h: 3600,
  hr: 3600,
  d: 86_400,
  day: 86_400,
  days: 86_400,
  w: 604_800,
  week: 604_800,
  weeks: 604_800,
} as const;
const SPAN_PART = /^\s*(\d+)\s*([a-z]+)/;

/** Bytes of a size such as `8GiB` or `1.5GiB`; undefined when it is not one (`8G`, `8 GB`, `-1GiB`). */
export function parseSize(text: string): number | undefined {
  const match = SIZE.exec(text);
  if (!match) {
    return undefined;
  }
  const bytes = Number(match[1]) * SIZE_UNITS[match[2] as keyof typeof SIZE_UNITS];
  return Number.isSafeInteger(bytes) ? bytes : undefined;
}

/** The shortest exact IEC form of a number of bytes, for messages. */
export function formatSize(bytes: number): string {
  for (const unit of ["TiB", "GiB", "MiB", "KiB"] as const) {
    const value = bytes / SIZE_UNITS[unit];
    if (value >= 1 && Number.isInteger(value * 100)) {
      return `${String(value)}${unit}`;
    }
  }
  return `${String(bytes)}B`;
}

/** Seconds of a systemd time span such as `90s`, `1h 30min` or `1d`; undefined when it is not one. */
export function parseSpan(text: string): number | undefined {
  let rest = text.trimEnd();
  let seconds = 0;
  while (rest !== "") {
    const match = SPAN_PART.exec(rest);
    const unit = match?.[2];
    if (!match || unit === undefined || !Object.hasOwn(SECONDS, unit)) {
      return undefined;
    }
    seconds += Number(match[1]) * SECONDS[unit as keyof typeof SECONDS];
    rest = rest.slice(match[0].length);
  }
  return seconds > 0 && Number.isSafeInteger(seconds) ? seconds : undefined;
}
