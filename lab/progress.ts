/** Progress on standard error: one line a step, with the time since the command began. */
export interface Progress {
  /** A line about what begins now. */
  say(message: string): void;
  /** Runs one step, named when it begins; a step that takes long says how long it has taken so far. */
  step<T>(message: string, work: () => Promise<T>): Promise<T>;
}

/** Time between two signs of life of a long step without a terminal. */
const HEARTBEAT = 30_000;

export function createProgress(
  stream: NodeJS.WritableStream & { isTTY?: boolean } = process.stderr,
  now: () => number = Date.now,
): Progress {
  const started = now();
  const say = (message: string) => {
    stream.write(
      `${stream.isTTY === true ? "\r\x1b[K" : ""}[${clock(now() - started)}] ${message}\n`,
    );
  };
  return {
    say,
    async step(message, work) {
      say(message);
      const began = now();
      // A terminal shows a running clock on one line; a log gets a line now and then.
      const timer =
        stream.isTTY === true
          ? setInterval(() => stream.write(`\r\x1b[K  ${message} ${clock(now() - began)}`), 1000)
          : setInterval(() => {
              say(`${message}: ${clock(now() - began)} so far`);
            }, HEARTBEAT);
      try {
        return await work();
      } finally {
        clearInterval(timer);
        if (stream.isTTY === true) {
          stream.write("\r\x1b[K");
        }
      }
    },
  };
}

/** Minutes and seconds, such as 3:07. */
export function clock(milliseconds: number): string {
  const seconds = Math.floor(milliseconds / 1000);
  return `${String(Math.floor(seconds / 60))}:${String(seconds % 60).padStart(2, "0")}`;
}
