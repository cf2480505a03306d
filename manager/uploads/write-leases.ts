import { randomUUID } from 'node:crypto'
import { AppError, because, isAppError, type UploadId } from '#manager/contract'
import { onBehalfOfAll } from '../store/on-behalf.ts'
import { type Db } from '../store/schema.ts'
import { leaseUpload, releaseUpload, renewLeases } from '../store/storage/uploads.ts'

/** Time for which a writer that died with its manager keeps other writers out. */
const LEASE_SECONDS = 10
const RENEW_MS = 3_000
/** A writer that has received nothing for this long is replaced by the next one: its connection is probably lost. */
const QUIET_MS = 4_000
/** A writer that has received nothing for this long is ended. */
const STALLED_MS = 60_000

/** The right to write to an upload until the work is done. */
export interface WriteLease {
  /** Aborted when the right is lost: to another writer, by a stall, or by a change of access. */
  readonly signal: AbortSignal
  /** Call when bytes have arrived. */
  arrived(): void
  /** Ends the phase of receiving bytes; after that the file is checked and moved into the folder. */
  settle(): void
}

interface Writer {
  /** The writer's name in the database. */
  readonly name: string
  readonly check: () => Promise<unknown>
  readonly controller: AbortController
  readonly ended: Promise<undefined>
  arrivedAt: number
  isSettled: boolean
  /** Whether the database has the name. */
  isHeld: boolean
  /** Arrival time of the last byte at the latest renewal. */
  seenAt: number
  renewedAt: number
}

/**
 * Allows one writer at a time for each upload, at all managers: a row in the database contains the writer's name, and is renewed while the
 * writer works.
 *
 * Threat model: one person may keep many uploads open and send nothing. So all leases are renewed by one statement, and the right to write
 * is checked again only for uploads that have received bytes.
 *
 * @param livesSeconds how long an upload lives after each renewal
 */
export function createWriteLeases({ db, livesSeconds }: { db: Db; livesSeconds: number }) {
  const writers = new Map<UploadId, Writer>()
  const times = { leaseSeconds: LEASE_SECONDS, livesSeconds }
  let timer: NodeJS.Timeout | undefined
  let renewing: Promise<void> | undefined

  function onTime(): void {
    if (writers.size === 0) {
      clearInterval(timer)
      timer = undefined
      return
    }
    const now = performance.now()
    for (const { controller, isSettled, arrivedAt, renewedAt } of writers.values()) {
      if (!isSettled && now - arrivedAt > STALLED_MS) controller.abort(new AppError('upload_stalled'))
      // Another manager may have taken the upload meanwhile.
      if (now - renewedAt > LEASE_SECONDS * 1_000) controller.abort(locked())
    }
    renewing ??= renewAll().finally(() => (renewing = undefined))
  }

  async function renewAll(): Promise<void> {
    const checked = await Promise.all([...writers].filter(([, { isHeld }]) => isHeld).map(checkAgain))
    const due = checked.filter(lease => lease !== undefined)
    // A database that does not answer now may answer before the leases end.
    const held = await renewLeases(db, due, times).catch(() => undefined)
    if (!held) return
    for (const { id, writer } of due) {
      const known = writers.get(id)
      if (known?.name !== writer) continue
      if (held.has(id)) known.renewedAt = performance.now()
      else known.controller.abort(locked())
    }
  }

  /** @returns the lease to renew; undefined if the writer may not continue, or cannot be checked now */
  async function checkAgain([id, writer]: [UploadId, Writer]) {
    const moved = writer.arrivedAt > writer.seenAt
    const { name, check, controller } = writer
    try {
      if (moved || writer.isSettled) await check()
    } catch (error) {
      if (isAppError(error) && error.code !== 'unavailable') controller.abort(error)
      return undefined
    }
    if (moved) writer.seenAt = writer.arrivedAt
    return { id, writer: name, moved }
  }

  return {
    /**
     * @param check repeats the check that the caller may write, while bytes arrive @throws AppError `upload_locked`; errors of `check` and
     *   of `work`
     */
    async withLease<T>(
      id: UploadId,
      check: () => Promise<unknown>,
      work: (lease: WriteLease) => Promise<T>,
    ): Promise<T> {
      const before = writers.get(id)
      if (before) {
        if (before.isSettled || performance.now() - before.arrivedAt < QUIET_MS) throw locked()
        before.controller.abort(locked())
        await before.ended
        if (writers.has(id)) throw locked()
      }
      const { promise: ended, resolve: end } = Promise.withResolvers<undefined>()
      const controller = new AbortController()
      const now = performance.now()
      const own = { name: randomUUID(), check, controller, ended }
      const writer: Writer = { ...own, arrivedAt: now, isSettled: false, isHeld: false, seenAt: now, renewedAt: now }
      writers.set(id, writer)
      timer ??= onBehalfOfAll(() => setInterval(onTime, RENEW_MS).unref())
      try {
        if (!(await leaseUpload(db, id, writer.name, times))) throw locked()
        writer.isHeld = true
        return await work({
          signal: controller.signal,
          arrived: () => void (writer.arrivedAt = performance.now()),
          settle: () => void (writer.isSettled = true),
        })
      } finally {
        // If this fails, the lease expires. A later renewal finds no writer with this name.
        await releaseUpload(db, id, writer.name).catch(() => undefined)
        writers.delete(id)
        end(undefined)
      }
    },
  }
}

function locked(): AppError {
  return new AppError('upload_locked', { ...because('upload_busy'), retryAfterSeconds: 3 })
}
