import { type FolderQuotas, type LimitedRow } from '../folders/folder-quotas.ts'
import { type Amount, amount, isLimited, NOTHING } from '../folders/size-rules.ts'
import { replacedSpace, type Spot } from './replaced-size.ts'
import { passOver } from './walk.ts'

/**
 * Space that a copy reserves in its target folder, one entry after the other. The space of a replaced entry counts as free during the copy,
 * although both exist until the replacement.
 */
export interface CopyReservation extends AsyncDisposable {
  /** Reserves this much before it is written. @throws AppError `quota_folder_full`, … */
  take(more: Amount): Promise<void>
  /** Begins an entry. @param place entry that it replaces; undefined if it replaces none */
  begin(place: Spot | undefined, signal: AbortSignal): Promise<void>
  /**
   * Removes the entry that a copied one replaces. @throws AppError `quota_folder_full`, … if that frees less than expected and the copy
   * does not fit
   */
  replace(place: Spot, signal: AbortSignal, remove: () => Promise<void>): Promise<void>
  /** Releases the reservation for an entry whose copy has failed and is deleted. */
  undo(): Promise<void>
}

export type QuotasForCopies = Pick<FolderQuotas, 'meter' | 'require' | 'freeing' | 'giveBack'>

export function createCopyReservation(quotas: QuotasForCopies, row: LimitedRow): CopyReservation {
  const meter = quotas.meter(row)
  /** Space of the replaced entry, and space taken so far. */
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
