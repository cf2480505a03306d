import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'

/** Plain relays in a row, each a process of its own, that end at `host:port`; three are the yardstick of the tunnel. */
export interface Relays extends Disposable {
  readonly port: number
}

const RELAY = './relay.ts'
/** A bare HTTP forwarder, then two relays: the minimal cost of a path of three Node processes with an HTTP proxy. */
export const BARE_HTTP = [RELAY, RELAY, './http-forwarder.ts']

/** @param scripts the last one listens for clients */
export async function startRelays(
  target: { readonly host: string; readonly port: number },
  scripts: readonly string[] = [RELAY, RELAY, RELAY],
): Promise<Relays> {
  const children: ChildProcess[] = []
  let { host, port } = target
  for (const script of scripts) {
    const child = fork(new URL(script, import.meta.url), [host, String(port)], {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    })
    children.push(child)
    const [message] = (await once(child, 'message')) as [{ port: number }]
    host = '127.0.0.1'
    port = message.port
  }
  return {
    port,
    [Symbol.dispose]() {
      for (const child of children) child.disconnect()
    },
  }
}
