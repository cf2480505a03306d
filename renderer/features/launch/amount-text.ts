import { SLOTS, type SlotName } from '#manager/contract'
import { formatBytes } from '../../ui/format.ts'

/** Text of an amount in base units of its slot: `1.5 CPU cores`, `4 GiB RAM`, `2 GPUs`. */
export function amountText(slot: SlotName, amount: number): string {
  if (slot === 'mem') return `${formatBytes(amount)} RAM`
  const value = (amount / SLOTS[slot].base).toLocaleString(undefined, { maximumFractionDigits: 2 })
  if (slot === 'cpu') return `${value} CPU ${amount === 1000 ? 'core' : 'cores'}`
  return slot === 'cuda.shares' ? `${value} fGPU` : `${value} ${amount === 1 ? 'GPU' : 'GPUs'}`
}
