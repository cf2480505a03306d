import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { listenAt, LOOPBACK } from '#proxy/listen-at'

/** Other users of this computer may run Berth too, and the first has the usual port: the desktop app takes another one, and keeps it for its next starts. */
export interface ConsolePort {
  /** Port to listen on; 0 for any free one. */
  readonly port: number
  keep(port: number): Promise<void>
}

/** @param usual port to prefer while none is kept @param isFree as the console will find it */
export async function findConsolePort(
  directory: string,
  usual: number,
  isFree = freeAt(LOOPBACK),
): Promise<ConsolePort> {
  const file = join(directory, 'console-port')
  const kept = Number(await readFile(file, 'utf8').catch(() => ''))
  const isKept = Number.isInteger(kept) && kept >= 1024 && kept <= 65_535
  const wanted = isKept ? [kept, usual] : [usual]
  let port = 0
  for (const one of wanted) {
    if (!(await isFree(one))) continue
    port = one
    break
  }
  return {
    port,
    async keep(used) {
      if (used !== kept && used !== usual) await writeFile(file, `${String(used)}\n`, { mode: 0o600 })
    },
  }
}

/** Whether a port is free at all these addresses, as far as this computer has them. @param hosts as the console listens at them */
export function freeAt(hosts: readonly string[]): (port: number) => Promise<boolean> {
  return async port => {
    try {
      const listener = await listenAt(hosts, { port, onConnection: socket => socket.destroy() })
      await listener.close()
      return true
    } catch {
      return false
    }
  }
}
