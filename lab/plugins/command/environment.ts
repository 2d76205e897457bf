/**
 * Environment variables of a session, each acknowledged by the server before the command runs.
 *
 * The SSH library sends them without asking for an answer, so a server that refuses one (sshd
 * does without `AcceptEnv`) goes unnoticed. This holds the command back until every variable is
 * answered; it reaches below the library's documented surface, and checks what it relies on.
 */

import type { Client } from "ssh2";

export interface Variable {
  readonly name: string;
  readonly value: string;
  /** A refusal of this one is reported and does not stop the command. */
  readonly onRefused?: () => void;
}

interface Protocol {
  env(channel: number, name: string, value: string, wantReply: boolean): void;
  exec(channel: number, command: string, wantReply: boolean): void;
}

type Reply = (failed: boolean | Error) => void;

interface Internals {
  readonly _protocol: Protocol;
  readonly _chanMgr: {
    readonly _channels: Readonly<
      Record<string, { readonly outgoing?: { readonly id: number }; readonly _callbacks?: Reply[] }>
    >;
  };
}

/** Prepares the client's next command; `refused` is set when a variable is refused. */
export function sendEnvironment(
  client: Client,
  variables: readonly Variable[],
): { readonly refused: Error | undefined } {
  const result: { refused: Error | undefined } = { refused: undefined };
  if (variables.length === 0) {
    return result;
  }
  const internals = client as unknown as Internals;
  const protocol = internals._protocol;
  const exec = protocol.exec.bind(protocol);
  protocol.exec = (channel, command, wantReply) => {
    protocol.exec = exec;
    const replies = repliesOf(internals, channel);
    const send = (index: number): void => {
      const variable = variables[index];
      if (variable === undefined) {
        exec(channel, command, wantReply);
        return;
      }
      // In front of the reply to the command itself, which is not sent yet.
      replies.unshift((failed) => {
        if (failed === false) {
          send(index + 1);
        } else if (variable.onRefused !== undefined) {
          variable.onRefused();
          send(index + 1);
        } else {
          result.refused = new Error(
            `could not set environment variable "${variable.name}": ssh: setenv failed`,
          );
          replies.shift()?.(true);
        }
      });
      protocol.env(channel, variable.name, variable.value, true);
    };
    send(0);
  };
  return result;
}

function repliesOf(internals: Internals, id: number): Reply[] {
  const channels = Object.values(internals._chanMgr._channels);
  const replies = channels.find((channel) => channel.outgoing?.id === id)?._callbacks;
  if (replies === undefined) {
    throw new Error("this version of the ssh2 library keeps its channels in another way");
  }
  return replies;
}
