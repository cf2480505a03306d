import { SLOTS, type SlotName } from '#manager/contract'
import { formatBytes, formatNumber } from '../../ui/format.ts'
import { t } from '../../words/en/launch.ts'

/** Text of an amount in base units of its slot: `1.5 CPU cores`, `4 GiB RAM`, `2 GPUs`. */
export function amountText(slot: SlotName, amount: number): string {
  if (slot === 'mem') return t('ram', { amount: formatBytes(amount) })
  const count = amount / SLOTS[slot].base
  const text = formatNumber(count)
  if (slot === 'cpu') return t('cpuCores', { count, amount: text })
  return slot === 'cuda.shares' ? `${text} fGPU` : t('wholeGpus', { count, amount: text })
}

/** Text such as `1.5 cores`, for places with a label beside it. */
export function coresText(milli: number): string {
  const count = milli / SLOTS.cpu.base
  return t('coresOnly', { count, amount: formatNumber(count) })
}
