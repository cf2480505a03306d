import { existsSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { StepError } from './progress.ts'
import type { StartFlags } from './start-flags.ts'

/** The console's port if nobody chooses another one. */
const DEFAULT_PORT = 8400

/**
 * Looks for the console's port before anything is made for the start. The usual case, a free port and no settings, costs one attempt to
 * listen; the modules that read settings and find the holder of a port cost more than all other steps of a warm start.
 *
 * @throws StepError if the port is taken; the hint names the program that has it, where that can be known
 */
export async function checkPort(dataDir: string, { port, config }: Pick<StartFlags, 'port' | 'config'>): Promise<void> {
  const isPlain = config === undefined && !existsSync(join(dataDir, 'berth.toml')) && !process.env.BERTH_HOST
  if (isPlain && (await isFree(Number(port ?? (process.env.BERTH_PORT || DEFAULT_PORT))))) return
  const { refuseTakenPort } = await import('../../cli/up/taken-port.ts')
  const { isAppError, whyOf } = await import('#manager/contract')
  try {
    const flag = port === undefined ? undefined : Number(port)
    await refuseTakenPort({ directory: dataDir, config, port: flag, command: 'npm start -- --port 0' })
  } catch (error) {
    // `berth up` reports all other faults, such as settings that cannot be read.
    if (!isAppError(error) || error.code !== 'port_in_use') return
    throw new StepError('The port of the console is taken', whyOf(error) ?? error.message, { cause: error })
  }
}

/** False also for a number that is not a port. */
function isFree(port: number): Promise<boolean> {
  return new Promise(resolve => {
    const server = createServer()
    server.once('error', () => resolve(false))
    try {
      server.listen({ host: '127.0.0.1', port, exclusive: true }, () => server.close(() => resolve(true)))
    } catch {
      resolve(false)
    }
  })
}
