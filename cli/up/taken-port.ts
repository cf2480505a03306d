import { AppError, because, isAppError } from '#manager/contract'
import { listenAt } from '#proxy/listen-at'
import { findPortHolder } from '#proxy/port-holder'
import { consoleHostsOf, consolePortOf, readSettings } from '../config/berth-toml/read.ts'
import { controlSocketPath, isAnswered } from './control-socket.ts'

/** Commands that start Berth at any free port. */
export type StartCommand = 'npm start -- --port 0' | 'berth up --port 0'

/**
 * Checks in advance whether the console's port is taken, which `berth up` would find out only later. A Berth that runs with the same data
 * directory has its port itself, and a second start shows that one.
 *
 * @throws AppError `port_in_use` as `explainTakenPort`; `config_invalid`
 */
export async function refuseTakenPort(start: {
  readonly directory: string
  readonly config: string | undefined
  readonly port: number | undefined
  readonly command: StartCommand
}): Promise<void> {
  const { directory, config, port: flag, command } = start
  if (await isAnswered(controlSocketPath(directory))) return
  const settings = await readSettings(directory, config)
  try {
    const port = consolePortOf(settings, flag)
    const listener = await listenAt(consoleHostsOf(settings), { port, onConnection: socket => socket.destroy() })
    await listener.close()
  } catch (error) {
    throw await explainTakenPort(error, command)
  }
}

/** Adds the program that has the port, where it can be known, and the next step. @returns other errors as they are */
export async function explainTakenPort(error: unknown, command: StartCommand): Promise<unknown> {
  if (!isAppError(error) || error.code !== 'port_in_use' || typeof error.detail.port !== 'number') return error
  const { port } = error.detail
  const holder = await findPortHolder(port)
  const program = holder?.isBerth ? 'Berth' : holder?.name
  const why =
    holder === undefined || program === undefined || program === ''
      ? because('console_port_taken_by_nobody_known', { port, command })
      : because('console_port_taken', { port, program, pid: holder.pid, command })
  return new AppError('port_in_use', { port, ...why, whySaysNext: true }, { cause: error })
}
