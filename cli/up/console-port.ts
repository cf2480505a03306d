import { readFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { once } from 'node:events'
import { join } from 'node:path'

/** Other users of this computer may run Berth too, and the first has the usual port: the desktop app takes another one, and keeps it for its next starts. */
export interface ConsolePort {
  /** Port to listen on; 0 for any free one. */
  readonly port: number
  keep(port: number): Promise<void>
}

/** @param usual port to prefer while none is kept @param isFree for tests */
export async function findConsolePort(directory: string, usual: number, isFree = isPortFree): Promise<ConsolePort> {
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

async function isPortFree(port: number): Promise<boolean> {
  const server = createServer()
  try {
    await once(server.listen({ port, host: '127.0.0.1', exclusive: true }), 'listening')
    return true
  } catch {
    return false
  } finally {
    await new Promise(closed => server.close(closed))
  }
}
