import { type ApiClient, type Session } from '#manager/contract'
import { EXIT } from '../exit-codes.ts'
import { listenForInterrupt } from '../interrupt.ts'
import { type Output } from '../output.ts'
import { describe } from './session-text.ts'
import { waitForCreated } from './wait-for-sessions.ts'

interface Created {
  readonly api: ApiClient
  readonly output: Output
  readonly items: readonly Session[]
  readonly wait: boolean | undefined
}

/**
 * Prints the created sessions, with --wait in their state after the wait; a batch session that ended badly makes the command
 * fail.
 */
export async function printCreated({ api, output, items, wait = false }: Created): Promise<void> {
  using interrupt = listenForInterrupt()
  const { signal } = interrupt
  const sessions = wait ? await waitForCreated({ api, sessions: items, signal, output }) : items
  output.data(sessions.length > 1 ? sessions : sessions[0], () => sessions.map(describe).join('\n'))
  if (signal.aborted) output.note('The command stopped waiting. The session stays; \`berth session rm\` ends it.')
  signal.throwIfAborted()
  if (!wait) return
  const jobs = sessions.filter(one => one.kind === 'batch')
  for (const one of jobs) output.note(`${one.name}: ${one.reason.message}`)
  if (jobs.some(one => one.result !== 'success')) process.exitCode = EXIT.failed
}
