import { type Reason, type Scheduling } from '#manager/contract'
import { deletePause, readPause, writePause } from '../store/operation/pause.ts'
import { onBehalfOfAll } from '../store/on-behalf.ts'
import { type Store } from '../store/open-store.ts'

/** Switch that pauses the whole scheduler, at all managers. A restored database starts paused. */
export interface SchedulingSwitch {
  read(): Promise<Scheduling>
  pause(): Promise<Scheduling>
  resume(): Promise<Scheduling>
  isPaused(): Promise<boolean>
  /**
   * Whether scheduling is paused because the database was restored: agents may have newer state than the database. The answer is cached for
   * KEPT_MS, because this is called all the time.
   */
  isRestored(): Promise<boolean>
}

const KEPT_MS = 1_000

/** @param onResumed called when placements are possible again */
export function createSchedulingSwitch({
  store,
  onResumed,
}: {
  store: Store
  onResumed: () => void
}): SchedulingSwitch {
  const { db } = store
  let known: { at: number; paused: Promise<Scheduling['paused']> } | undefined
  const read = async (): Promise<Scheduling> => ({ paused: await readPause(db) })
  function lately(): Promise<Scheduling['paused']> {
    if (!known || performance.now() - known.at > KEPT_MS) {
      known = { at: performance.now(), paused: onBehalfOfAll(() => readPause(db)) }
      known.paused.catch(() => (known = undefined))
    }
    return known.paused
  }
  const change = async (act: Promise<void>) => {
    await act
    known = undefined
    return read()
  }
  return {
    read,
    pause: () => change(store.transaction(trx => writePause(trx, 'by_admin'))),
    async resume() {
      const now = await change(deletePause(db))
      onResumed()
      return now
    },
    isPaused: async () => (await readPause(db)) !== null,
    isRestored: async () => (await lately())?.why === 'restored',
  }
}

export const PAUSED: Reason = {
  code: 'scheduling_paused',
  message:
    'Sessions are not started: the database was restored, or an admin has paused them. An admin resumes with `berth admin resume`.',
}
