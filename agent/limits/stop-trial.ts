import { setTimeout as delay } from 'node:timers/promises'

/** Result of a trial: `other`: space is lost without the session too; `unclear`: it shows nothing, because hardly any space is being lost. */
export type Finding = 'cause' | 'other' | 'unclear'

export interface StopTrial {
  /** Free bytes of the file system now; undefined if it cannot be asked. */
  readonly left: () => Promise<number | undefined>
  /** Stops the processes of the session until the result is disposed of; undefined if they cannot be stopped. */
  readonly stop: () => Promise<AsyncDisposable | undefined>
  /** Bytes of the session in files that can be found; called while it is stopped. */
  readonly use: () => Promise<number>
  /** Bytes that are lost in each window in which the session runs, if it is the cause. */
  readonly least: number
  /** Left out: the clock, in milliseconds. */
  readonly now?: () => number
  readonly wait?: (ms: number) => Promise<unknown>
}

const ROUNDS = 3
/** The session runs for at most this long before each stop. */
const RUN_MS = 2_000
/** Time for which it is stopped: longer than a program of the host that fills a disk rests between two writes. */
const STOPPED_MS = 500
const LOOK_MS = 20
/** Part of the loss before that others, who write a little, may cause while the session is stopped. */
const OTHERS = 1 / 8
/** Part of the loss that is in files that can be found, above which nothing is hidden. */
const FOUND = 1 / 2

/**
 * Tries whether a session takes the space that a file system loses: the loss goes on while the session runs, ends each time its processes
 * are stopped, and is not in files that can be found. Counters of written bytes do not show that, because a session that writes to the
 * same place of a file again and again, or to another disk, takes nothing. It takes at most 8 s and the time of two measurements; the
 * session is stopped for half a second a round, and while it is measured.
 */
export async function tryStopping(trial: StopTrial): Promise<Finding> {
  const { left, stop, use, least, now = () => performance.now(), wait = delay } = trial

  /** @returns bytes lost until `enough` are, or the time is over; undefined if the file system cannot be asked */
  async function lossWithin(ms: number, enough: number): Promise<number | undefined> {
    const [before, startedAt] = [await left(), now()]
    if (before === undefined) return undefined
    for (;;) {
      await wait(LOOK_MS)
      const after = await left()
      if (after === undefined) return undefined
      if (before - after >= enough || now() - startedAt >= ms) return before - after
    }
  }

  let [lost, usedFirst, usedLast] = [0, 0, 0]
  for (let round = 0; round < ROUNDS; round++) {
    const ran = await lossWithin(RUN_MS, least)
    if (ran === undefined || ran < least) return 'unclear'
    await using stopped = await stop()
    if (!stopped) return 'unclear'
    const without = await lossWithin(STOPPED_MS, Infinity)
    if (without === undefined) return 'unclear'
    if (without > ran * OTHERS) return 'other'
    if (round === 0) usedFirst = await use()
    else lost += ran
    if (round === ROUNDS - 1) usedLast = await use()
  }
  return usedLast - usedFirst < lost * FOUND ? 'cause' : 'other'
}
