import { readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { cleanLine } from '#base/clean-text'
import { every } from '#base/every'
import { parseJson } from '#base/parse-json'
import { type AgentProgram } from '#agent/contract'
import { AppError, because, whyOf } from '#manager/contract'
import { type Requester } from '../control/dispatcher.ts'
import { type Log } from '../log.ts'
import { failed } from './failed.ts'
import { fetchProgram, type ProgramOrder, removePartial } from './fetch-program.ts'
import { HOST_PLACES, type HostPlaces, type Installation } from './installation.ts'
import { startUnit, type StartUnit } from './start-unit.ts'

export interface ProgramUpdates extends AsyncDisposable {
  /** For the report. */
  state(): Omit<AgentProgram, 'busy'>
  /** As `update_program`. @throws AppError `unavailable`; the signal's reason */
  begin(order: ProgramOrder, from: Requester, signal: AbortSignal): Promise<void>
}

export interface ProgramUpdatesDeps {
  readonly installation: Installation
  /** Whether the host lets managers replace the program. */
  readonly allowed: boolean
  /** DATA/agent; keeps the update in progress. */
  readonly directory: string
  readonly onChange: () => void
  readonly log: Log
  readonly places?: HostPlaces
  /** Starts the script as a unit of its own, which outlives the agent. */
  readonly start?: StartUnit
}

const Pending = z.object({ id: z.uuid(), name: z.string() })
const LOOK_EVERY_MS = 2_000
const MOST_WHY = 1_000

/**
 * Replaces the program of this agent by one of its manager: fetches it, then leaves the rest to the script of the installation, which makes it
 * the one in use, restarts the service, and goes back if the new agent does not join. Either agent finds the outcome and reports it.
 */
export async function openProgramUpdates(deps: ProgramUpdatesDeps): Promise<ProgramUpdates> {
  const { installation, allowed, directory, onChange, log, places = HOST_PLACES, start = startUnit } = deps
  const file = join(directory, 'update.json')
  let pending = Pending.safeParse(parseJson(await readFile(file, 'utf8').catch(() => ''))).data
  let last: AgentProgram['failed']
  let atWork: { readonly id: string; readonly done: Promise<void>; readonly cancelled: AbortSignal } | undefined
  const stop = new AbortController()

  async function keep(next: typeof pending): Promise<void> {
    pending = next
    if (!next) {
      await rm(file, { force: true })
      return
    }
    await writeFile(`${file}.new`, JSON.stringify(next), { mode: 0o600, flush: true })
    await rename(`${file}.new`, file)
  }

  /** Reads the outcome that the script has left, once it is there. */
  async function look(): Promise<void> {
    if (!pending) return
    const text = await readFile(places.outcome, 'utf8').catch(() => '')
    const [head = '', ...lines] = text.split('\n')
    if (head === `done ${pending.name}`) await keep(undefined)
    if (head !== `failed ${pending.name}`) return
    const why = cleanLine(lines.join(' ').trim(), MOST_WHY)
    last = { id: pending.id, why: why === '' ? 'The update failed.' : why }
    log.error({ program: pending.name, why }, 'an update of this agent failed; the program of before is in use again')
    await keep(undefined)
    onChange()
  }

  async function perform(order: ProgramOrder, from: Requester, cancelled: AbortSignal): Promise<void> {
    last = undefined
    const signal = AbortSignal.any([cancelled, stop.signal])
    try {
      log.info({ version: order.version, digest: order.digest }, 'fetching a program from the manager')
      const name = await fetchProgram(order, { from, programs: places.programs, signal })
      await rm(places.outcome, { force: true })
      signal.throwIfAborted()
      await keep({ id: order.id, name })
      // The script of the program in use: it has worked here before.
      const script = join(places.programs, installation.name ?? '', 'add-host.sh')
      await start('berth-agent-update', ['/bin/sh', script, `--switch=${name}`]).catch((error: unknown) => {
        throw failed('update_not_started', error)
      })
    } catch (error) {
      await keep(undefined).catch(() => undefined)
      // Manager or agent stops: no failure of the program, and the next order tries again.
      if (signal.aborted) throw error
      last = {
        id: order.id,
        why: cleanLine(error instanceof AppError ? (whyOf(error) ?? error.message) : String(error), MOST_WHY),
      }
      onChange()
      throw error
    }
  }

  await look()
  if (installation.kind === 'line') await removePartial(places.programs)
  const looking = every(LOOK_EVERY_MS, look, error => log.warn({ err: error }, 'the outcome of an update was not read'))
  return {
    state: () => ({
      kind: installation.kind,
      digest: installation.digest,
      updates: installation.kind === 'line' && allowed,
      ...(last && { failed: last }),
    }),
    async begin(order, from, signal) {
      if (installation.kind !== 'line') throw new AppError('unavailable', because('update_kind'))
      if (!allowed) throw new AppError('unavailable', because('update_off'))
      // Root will run what comes, so an address with the right certificate is not enough.
      if (!from.proven) throw new AppError('unavailable', because('update_unproven'))
      if (atWork?.cancelled.aborted) await atWork.done.catch(() => undefined)
      if (atWork && atWork.id !== order.id) throw new AppError('unavailable', because('update_at_work'))
      if (pending?.id === order.id) return
      atWork ??= {
        id: order.id,
        done: perform(order, from, signal).finally(() => (atWork = undefined)),
        cancelled: signal,
      }
      await atWork.done
    },
    async [Symbol.asyncDispose]() {
      stop.abort(new Error('the agent stops'))
      await looking[Symbol.asyncDispose]()
      await atWork?.done.catch(() => undefined)
    },
  }
}
