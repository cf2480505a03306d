import { randomUUID } from 'node:crypto'
import { AppError, because, isAppError, type UploadId } from '#manager/contract'
import { type Db } from '../store/schema.ts'
import { holdUpload, releaseUpload } from '../store/storage/uploads.ts'

/** A writer that dies with its manager keeps others out for this long. */
const HOLD_SECONDS = 10
const RENEW_MS = 3_000
/** A writer that has received nothing for this long gives way to the next one: its connection is probably lost. */
const QUIET_MS = 4_000
/** A writer that has received nothing for this long is ended. */
const STALLED_MS = 60_000

/** The right to write to an upload, until the work is done. */
export interface Hold {
  /** Aborted if the right is lost, by another writer, a stall, or a change of access. */
  readonly signal: AbortSignal
  /** Call when bytes have arrived. */
  arrived(): void
  /** Ends the phase of receiving bytes: the file is checked and moved to its place. */
  settle(): void
}

interface Writer {
  readonly controller: AbortController
  readonly ended: Promise<undefined>
  arrivedAt: number
  isSettled: boolean
}

/**
 * Allows one writer at a time for each upload, at all managers: a row in the database holds its name, and is renewed while it works.
 *
 * @param livesSeconds how long an upload lives after each renewal
 */
export function createHolds({ db, livesSeconds }: { db: Db; livesSeconds: number }) {
  const writers = new Map<UploadId, Writer>()

  return {
    /**
     * @param check that the caller may write, as was checked before; repeated while the work continues
     * @throws AppError `upload_locked`; errors of `check` and of `work`
     */
    async hold<T>(id: UploadId, check: () => Promise<unknown>, work: (hold: Hold) => Promise<T>): Promise<T> {
      const before = writers.get(id)
      if (before) {
        if (before.isSettled || performance.now() - before.arrivedAt < QUIET_MS) throw locked()
        before.controller.abort(locked())
        await before.ended
        if (writers.has(id)) throw locked()
      }
      const { promise: ended, resolve: end } = Promise.withResolvers<undefined>()
      const controller = new AbortController()
      const writer: Writer = { controller, ended, arrivedAt: performance.now(), isSettled: false }
      writers.set(id, writer)
      const name = randomUUID()
      let seenAt = writer.arrivedAt
      const take = async () => {
        const moved = writer.arrivedAt > seenAt
        seenAt = writer.arrivedAt
        if (!(await holdUpload(db, id, name, { holdSeconds: HOLD_SECONDS, livesSeconds, moved }))) throw locked()
      }
      let renewing: Promise<void> | undefined
      let renewedAt = performance.now()
      const timer = setInterval(() => {
        const now = performance.now()
        if (!writer.isSettled && now - writer.arrivedAt > STALLED_MS) controller.abort(new AppError('upload_stalled'))
        // Another manager may have taken the upload meanwhile.
        if (now - renewedAt > HOLD_SECONDS * 1_000) controller.abort(locked())
        renewing ??= check()
          .then(take)
          .then(() => void (renewedAt = performance.now()))
          // A database that does not answer now may answer before the hold ends.
          .catch((error: unknown) => {
            if (isAppError(error) && error.code !== 'unavailable') controller.abort(error)
          })
          .finally(() => (renewing = undefined))
      }, RENEW_MS).unref()
      try {
        await take()
        return await work({
          signal: controller.signal,
          arrived: () => void (writer.arrivedAt = performance.now()),
          settle: () => void (writer.isSettled = true),
        })
      } finally {
        clearInterval(timer)
        await renewing
        // If this fails, the hold ends by itself.
        await releaseUpload(db, id, name).catch(() => undefined)
        writers.delete(id)
        end(undefined)
      }
    },
  }
}

function locked(): AppError {
  return new AppError('upload_locked', { ...because('upload_busy'), retryAfterSeconds: 3 })
}
