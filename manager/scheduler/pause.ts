import { type Reason, type Scheduling } from '#manager/contract'
import { deletePause, readPause, writePause } from '../store/pause.ts'
import { type Db } from '../store/schema.ts'

/** The switch for the whole scheduler, at all managers. A restored database starts with it off. */
export interface SchedulingSwitch {
  read(): Promise<Scheduling>
  pause(): Promise<Scheduling>
  resume(): Promise<Scheduling>
  /** As of a moment ago: for those who ask all the time. */
  isPaused(): Promise<boolean>
  /** Paused because the database was restored: what agents have may be newer than what it says. */
  isRestored(): Promise<boolean>
}

const KEPT_MS = 1_000

/** @param onResumed placements are possible again */
export function createSchedulingSwitch({ db, onResumed }: { db: Db; onResumed: () => void }): SchedulingSwitch {
  let known: { at: number; paused: Promise<Scheduling['paused']> } | undefined
  const read = async (): Promise<Scheduling> => ({ paused: await readPause(db) })
  function lately(): Promise<Scheduling['paused']> {
    if (!known || performance.now() - known.at > KEPT_MS) {
      known = { at: performance.now(), paused: readPause(db) }
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
    pause: () => change(writePause(db, 'by_admin')),
    async resume() {
      const now = await change(deletePause(db))
      onResumed()
      return now
    },
    isPaused: async () => (await lately()) !== null,
    isRestored: async () => (await lately())?.why === 'restored',
  }
}

export const PAUSED: Reason = {
  code: 'scheduling_paused',
  message: 'An admin has to let sessions start again (`berth admin resume`), after a restore or a pause.',
}
