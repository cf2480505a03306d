import { parseAmount, SLOTS, type SlotName } from '#manager/contract'
import { formatBytes } from './format.ts'

export const SLOT_LABELS: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries(SLOTS).map(([slot, { label }]) => [slot, label]),
)

/** `4294967296` of `mem` → `4 GiB`; amounts of other slots stay as people request them. */
export function amountText(slot: string, amount: string): string {
  return slot === 'mem' ? formatBytes(parseAmount(slot satisfies SlotName, amount) ?? 0) : amount
}
