import { durationText } from '#base/duration'
import { type GpuLimit, type ResourcePolicy, SLOT_NAMES, SLOTS, type WireSlots } from '#manager/contract'
import { formatBytes } from '../../../ui/format.ts'
import { amountText } from '../../../ui/slot-text.ts'
import { t as shared } from '../../../words/en/admin.ts'

/** Text such as `8 CPU, 64 GiB RAM`; empty without slots. */
export function slotsText(slots: WireSlots): string {
  return SLOT_NAMES.flatMap(slot => {
    const amount = slots[slot]
    return amount === undefined ? [] : [`${amountText(slot, amount)} ${SLOTS[slot].label}`]
  }).join(', ')
}

/** `16 CPU, 4 GPU, H100: 2`. @param gpuLimits a manager of an older version sends none */
export const limitsText = (limits: WireSlots, gpuLimits: readonly GpuLimit[] = []): string =>
  [slotsText(limits), ...gpuLimits.map(({ model, gpus }) => `${model}: ${gpus}`)].filter(Boolean).join(', ') ||
  shared('unlimited')
export const countText = (count: number | null): string => (count === null ? shared('unlimited') : String(count))
export const timeText = (seconds: number | null): string =>
  seconds === null ? shared('unlimited') : durationText(seconds)

/** Limits of number and total size of folders: `20, 100 GiB`. */
export function foldersText({ maxFolders, maxFolderBytes }: ResourcePolicy): string {
  const parts = [maxFolders, maxFolderBytes === null ? null : formatBytes(maxFolderBytes)]
  return parts.filter(part => part !== null).join(', ') || shared('unlimited')
}

/** The largest limit on the number of files that a form accepts. */
export const MOST_FILES = 1_000_000_000

/** The faults of the fields of a form, by the names of those that have one. */
export const isNumber = (value: number | null): boolean => value === null || !Number.isNaN(value)
