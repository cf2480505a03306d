import { Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { answerParent, onParentGone, takeFromParent } from '#base/parent-channel'
import { ERRORS, toWireError } from '#manager/contract'
import { readConfig } from './config.ts'
import { createLogger } from './log.ts'
import { type Manager, startManager } from './manager.ts'
import { hasCallsInFlight } from './storage/calls.ts'

/**
 * Runs the manager as a process: configuration from the environment (`config.ts`), one JSON line on stdout when ready
 * or failed, logs on stderr. Stops on SIGINT, SIGTERM, and when the parent that gave it an IPC channel goes away.
 */
async function main(): Promise<void> {
  // Set before the first call that runs on a libuv thread. Storages that do not answer occupy threads (storage/calls.ts).
  process.env.UV_THREADPOOL_SIZE ??= '16'
  const config = readConfig(process.env)
  const log = createLogger(config.logLevel)
  const cut = new AbortController()
  const starting = startManager(config, log, undefined, cut.signal)
  const exit = async (code: number) => {
    const until = performance.now() + LAST_CALLS_MS
    while (hasCallsInFlight() && performance.now() < until) await delay(20)
    if (hasCallsInFlight()) {
      log.warn({}, 'a storage does not answer: the manager ends without its calls')
      process.kill(process.pid, 'SIGKILL')
    }
    process.exit(code)
  }
  const stop = (why: string) => {
    if (cut.signal.aborted) return
    log.info({ why }, 'manager stops')
    cut.abort(new Error(why))
    // A start or a stop that hangs (a database that does not answer) must not keep the process alive.
    setTimeout(() => {
      log.error({ withinMs: STOP_TIMEOUT_MS }, 'the manager did not stop in time')
      void exit(1)
    }, STOP_TIMEOUT_MS).unref()
    // A start in progress ends at its next step, and closes everything that it has opened.
    starting
      .then(
        manager => manager[Symbol.asyncDispose](),
        () => undefined,
      )
      .then(
        () => exit(0),
        (error: unknown) => {
          log.error({ err: error }, 'the manager did not stop cleanly')
          return exit(1)
        },
      )
  }
  process.on('SIGINT', () => stop('SIGINT'))
  process.on('SIGTERM', () => stop('SIGTERM'))
  onParentGone(process, () => stop('parent gone'))
  const manager = await starting.catch((error: unknown) => {
    if (!cut.signal.aborted) throw error
    return undefined
  })
  if (!manager) return
  if (process.channel) {
    process.on('message', (message, handle) => {
      if (handle instanceof Socket)
        takeFromParent(process, { message, connection: handle, take: socket => manager.take(socket) })
      else void answer(manager, message)
    })
  }
  process.stdout.write(`${JSON.stringify({ ready: 'manager', url: manager.url, managerId: manager.managerId })}\n`)
}

/** Time for storage calls in flight to finish. */
const LAST_CALLS_MS = 1_000

/** Shorter than the time after which `berth up` kills its children. */
const STOP_TIMEOUT_MS = 8_000

/** Answers requests of the parent process over their private channel: `{ id, type, about }`. */
async function answer(manager: Manager, message: unknown): Promise<void> {
  const { id, type, about } = (message ?? {}) as { id?: unknown; type?: unknown; about?: unknown }
  const requests: Readonly<Record<string, () => Promise<unknown>>> = {
    create_sign_in_ticket: () => manager.createSignInTicket(),
    create_join_token: () => manager.createJoinToken(),
    end_browser_sign_ins: () => manager.endBrowserSignIns(),
    create_replace_token: () => manager.createReplaceToken(String(about)),
  }
  const request = typeof type === 'string' ? requests[type] : undefined
  if (!request) return
  try {
    answerParent(process, { id, ok: true, value: await request() })
  } catch (error) {
    answerParent(process, { id, ok: false, error: toWireError(error) })
  }
}

if (import.meta.main) {
  main().catch((error: unknown) => {
    const { code, message, detail } = toWireError(error)
    if (code === 'internal')
      process.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`)
    process.stdout.write(`${JSON.stringify({ error: { code, message: message || ERRORS[code].title, detail } })}\n`)
    process.exit(1)
  })
}
