/** Calendar expressions of systemd.time(7), as far as a loop may write them: no zone, no fractions. */

const SHORTHANDS = /^(minutely|hourly|daily|weekly|monthly|quarterly|semiannually|yearly)$/;
const DAY = "(Mon|Tue|Wed|Thu|Fri|Sat|Sun)";
const WEEKDAYS = new RegExp(`^${DAY}(\\.\\.${DAY})?(,${DAY}(\\.\\.${DAY})?)*$`, "i");
const DATE = /^(?:([^-~:]+)-)?([^-~:]+)[-~]([^-~:]+)$/;
const TIME = /^([^-~:]+):([^-~:]+)(?::([^-~:]+))?$/;
const ITEM = /^(?:\*|(\d{1,4})(?:\.\.(\d{1,4}))?)(?:\/(\d{1,4}))?$/;

/** Whether systemd takes this text as `OnCalendar=`; a bad one would leave the loop without times. */
export function isCalendar(text: string): boolean {
  if (SHORTHANDS.test(text)) {
    return true;
  }
  const words = text.split(" ").filter((word) => word !== "");
  const kinds = words.map(kindOf);
  return words.length > 0 && kinds.every((kind, i) => kind > (kinds[i - 1] ?? 0));
}

/** Place of a word in an expression: weekdays, then a date, then a time; 0 is none of them. */
function kindOf(word: string): number {
  if (WEEKDAYS.test(word)) {
    return 1;
  }
  const [, year = "*", month = "", day = ""] = DATE.exec(word) ?? [];
  if (isField(year, 1970, 2199) && isField(month, 1, 12) && isField(day, 1, 31)) {
    return 2;
  }
  const [, hour = "", minute = "", second = "0"] = TIME.exec(word) ?? [];
  return isField(hour, 0, 23) && isField(minute, 0, 59) && isField(second, 0, 59) ? 3 : 0;
}

/** A list of `*`, numbers and ranges, each with an optional step, all inside the field's range. */
function isField(text: string, min: number, max: number): boolean {
  return text.split(",").every((item) => {
    const match = ITEM.exec(item);
    const from = Number(match?.[1] ?? min);
    const to = Number(match?.[2] ?? from);
    return match !== null && from >= min && to <= max && from <= to && match[3] !== "0";
  });
}
