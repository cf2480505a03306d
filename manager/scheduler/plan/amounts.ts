import { choiceText, formatAmount, type ResourceSlots, SLOTS, type SlotName } from '#manager/contract'
import { choosesGpu, type GpuNeed } from './gpu-need.ts'

/** GPUs in hundredths, whole devices and shares together. */
export function gpusOf({ 'cuda.device': devices = 0, 'cuda.shares': shares = 0 }: ResourceSlots): number {
  return devices * 100 + shares
}

/** Sum over all slots, each as a fraction of the group's capacity. */
export function partsOf(amounts: ResourceSlots, capacity: ResourceSlots): number {
  return (
    partOf(amounts.cpu, capacity.cpu) +
    partOf(amounts.mem, capacity.mem) +
    partOf(amounts['cuda.device'], capacity['cuda.device']) +
    partOf(amounts['cuda.shares'], capacity['cuda.shares'])
  )
}

const partOf = (amount = 0, all = 0) => (all === 0 ? 0 : amount / all)

/** `2 GPU (H100)`: amounts of GPUs with the choice that a request makes among them. */
export function readableOf(slot: SlotName, amount: number, gpu: GpuNeed | undefined): string {
  const text = readable(slot, amount)
  return gpu === undefined || !choosesGpu(gpu) || slot === 'cpu' || slot === 'mem'
    ? text
    : `${text} (${choiceText(gpu)})`
}

/** `2 GPU`, `1.5 CPU`, `4 GiB RAM`. */
export function readable(slot: SlotName, amount: number): string {
  return `${bare(slot, amount)} ${SLOTS[slot].label}`
}

export function bare(slot: SlotName, amount: number): string {
  if (SLOTS[slot].type !== 'BYTES') return formatAmount(slot, amount)
  return amount >= 2 ** 30 ? `${round(amount / 2 ** 30)} GiB` : `${round(amount / 2 ** 20)} MiB`
}

function round(value: number): number {
  return Math.floor(value * 10) / 10
}
