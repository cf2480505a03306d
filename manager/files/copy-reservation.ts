import { type FolderQuotas, type LimitedRow } from '../folders/folder-quotas.ts'
import { type Amount, amount, isLimited, NOTHING } from '../folders/size-rules.ts'
import { replacedSpace, type Spot } from './replaced-size.ts'
import { passOver } from './walk.ts'

/**
 * Room of a copy in the folder that it goes to, one entry after the other. What an entry replaces counts as free while it is copied, though both
 * are there until it takes the place.
 */
export interface CopyReservation extends AsyncDisposable {
  /** Reserves this much before it is written. @throws AppError `quota_folder_full`, … */
  take(more: Amount): Promise<void>
  /** Begins an entry. @param place what it replaces; undefined for one that replaces nothing */
  begin(place: Spot | undefined, signal: AbortSignal): Promise<void>
  /**
   * Takes away what is in the place of an entry that was copied.
   *
   * @throws AppError `quota_folder_full`, … if less is there than was counted on, and the copy does not fit without it
   */
  replace(place: Spot, signal: AbortSignal, remove: () => Promise<void>): Promise<void>
  /** Releases what was reserved for an entry whose copy has failed and is deleted. */
  undo(): Promise<void>
}

export type QuotasForCopies = Pick<FolderQuotas, 'meter' | 'require' | 'freeing' | 'giveBack'>

export function createCopyReservation(quotas: QuotasForCopies, row: LimitedRow): CopyReservation {
  const meter = quotas.meter(row)
  /** Room that the entry replaces, and room that it has taken so far. */
  let [counted, taken] = [NOTHING, NOTHING]

  return {
    async take(more) {
      await meter.take(more, counted)
      taken = amount(taken.bytes + more.bytes, taken.files + more.files)
    },
    async begin(place, signal) {
      taken = NOTHING
      counted = place && isLimited(row) ? await replacedSpace(place, signal) : NOTHING
    },
    async replace(place, signal, remove) {
      if (!isLimited(row)) return remove()
      const inode = (await place.directory.lstat(place.name).catch(passOver))?.inode ?? 0n
      await quotas.freeing(row, inode, async () => {
        const there = await replacedSpace(place, signal)
        await quotas.require(row, lacking(counted, there), counted)
        await remove()
        return there
      })
    },
    undo: () => quotas.giveBack(row, taken),
    [Symbol.asyncDispose]: () => meter[Symbol.asyncDispose](),
  }
}

const lacking = (counted: Amount, there: Amount): Amount =>
  amount(Math.max(0, counted.bytes - there.bytes), Math.max(0, counted.files - there.files))
