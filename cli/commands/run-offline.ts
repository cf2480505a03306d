import { spawn } from 'node:child_process'
import { AppError } from '#manager/contract'
import { environmentOf } from '../config/berth-toml/parse.ts'
import { listenForInterrupt } from '../interrupt.ts'
import { programFile } from '../program-file.ts'
import { serverError } from '../server-error.ts'
import { type Owner } from './as-owner.ts'

export interface OfflineWork {
  /** Data directory, absolute. */
  readonly data: string
  readonly settings: Parameters<typeof environmentOf>[0]
  /** The user that runs the process, unless it is our own. */
  readonly owner: Owner | undefined
  /** Standard input of the process. */
  readonly input?: string
}

/**
 * Runs the manager's store in a process of its own, which does the work: the CLI knows no tables. On an interrupt the process
 * stops what it has started, and we wait for it.
 *
 * @param program its path below the root without extension
 * @returns what it printed
 * @throws AppError of that program
 */
export async function runOffline<Outcome>(
  program: string,
  args: readonly string[],
  { data, settings, owner, input = '' }: OfflineWork,
): Promise<Outcome> {
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', programFile(program), ...args], {
    env: { ...process.env, ...environmentOf(settings, 'manager', process.env), BERTH_DATA: data, BERTH_LOG: 'error' },
    stdio: ['pipe', 'pipe', 'inherit'],
    // The other user may enter `/`.
    ...(owner ? { uid: owner.uid, gid: owner.gid, cwd: '/' } : {}),
  })
  using interrupt = listenForInterrupt()
  interrupt.signal.addEventListener('abort', () => child.kill('SIGTERM'))
  child.stdin.on('error', () => undefined) // the child ended without reading; its output says why
  child.stdin.end(input)
  const chunks: Buffer[] = []
  for await (const chunk of child.stdout) chunks.push(chunk as Buffer)
  const line = Buffer.concat(chunks).toString('utf8').trim()
  if (line === '') interrupt.signal.throwIfAborted()
  if (line === '') throw new AppError('internal', { why: `${program} ended without a result.` })
  const error = serverError(line)
  if (error) throw error
  return JSON.parse(line) as Outcome
}
