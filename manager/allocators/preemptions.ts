import { because, type Reason, reasonOf, type SessionId } from '#manager/contract'
import { type Audit } from '../audit/recorder.ts'
import { type Log } from '../log.ts'
import { type Store } from '../store/open-store.ts'
import { announceInterruption, callOffInterruption } from '../store/sessions/interruptions.ts'
import { insertSessionEvents } from '../store/sessions/session-events.ts'
import { type Touched } from '../store/sessions/touches.ts'
import { INTERRUPTED_BY_SLURM } from './slurm/reasons.ts'

/** Stops sessions that may be interrupted when their allocations are taken away, so that they continue on others. */
export interface Preemptions {
  /** Shows when the session is stopped; null: it is not, after all. */
  announce(id: SessionId, at: Date | null): Promise<void>
  /** Stops it now, whether that was announced or not. */
  interrupt(id: SessionId): Promise<void>
}

export interface PreemptionsDeps {
  readonly store: Store
  /** Stops a running session whose interruption was announced for this time or earlier; it then waits to continue. @returns whether it did */
  readonly interrupt: (id: SessionId, at: number, reason: Reason) => Promise<boolean>
  readonly hint: (touched: readonly Touched[]) => void
  readonly audit?: Audit | undefined
  readonly log: Log
}

export function createPreemptions({ store, hint, interrupt, audit, log }: PreemptionsDeps): Preemptions {
  return {
    async announce(id, at) {
      const touched = await store.transaction(async trx => {
        if (at === null) return writeEvents(trx, await callOffInterruption(trx, id), CALLED_OFF)
        // The engine may have moved the end.
        await callOffInterruption(trx, id)
        const when = because('makes_room_in_slurm_at', { time: at.toISOString() })
        const announced = await announceInterruption(trx, [id], at.getTime())
        return writeEvents(trx, announced, reasonOf('interruption_announced', when))
      })
      hint(touched)
    },
    async interrupt(id) {
      const at = store.now()
      await callOffInterruption(store.db, id)
      await announceInterruption(store.db, [id], at)
      if (!(await interrupt(id, at, INTERRUPTED_BY_SLURM))) return
      log.info({ id }, 'a session is interrupted: Slurm has taken its allocation away')
      await audit?.record({
        action: 'interruptSession',
        target: `session:${id}`,
        result: 'ok',
        detail: { for: 'slurm' },
      })
    },
  }
}

const CALLED_OFF = reasonOf('interruption_called_off', because('slurm_keeps'))

async function writeEvents(
  trx: Parameters<typeof insertSessionEvents>[0],
  touched: Touched[],
  reason: typeof CALLED_OFF,
): Promise<Touched[]> {
  const event = { kernelId: null, from: 'RUNNING', to: 'RUNNING', reason, actor: null } as const
  await insertSessionEvents(
    trx,
    touched.map(({ id }) => ({ ...event, sessionId: id })),
  )
  return touched
}
