import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'

/** Three plain relays in a row, each a process of its own, that end at `host:port`: the yardstick of the tunnel. */
export interface Relays extends Disposable {
  readonly port: number
}

const COUNT = 3

export async function startRelays(target: { readonly host: string; readonly port: number }): Promise<Relays> {
  const children: ChildProcess[] = []
  let { host, port } = target
  for (let i = 0; i < COUNT; i++) {
    const child = fork(new URL('./relay.ts', import.meta.url), [host, String(port)], {
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
