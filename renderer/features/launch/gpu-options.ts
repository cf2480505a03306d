import {
  choiceText,
  countedMemory,
  type GpuChoice,
  type GpuLimitUse,
  type GpuStock,
  isChosen,
  isOfModel,
  parseAmount,
  profileOf,
  SLOTS,
} from '#manager/contract'
import { formatBytes, formatNumber } from '../../ui/format.ts'
import { type GpuSlot } from './launch-form.ts'
import { t } from '../../words/en/launch.ts'

/** A choice among the GPUs that hosts have. */
export interface GpuOption {
  /** Null for any GPU. */
  readonly choice: GpuChoice | null
  readonly title: string
  readonly subtitle: string
}

const slotOf = ({ mode }: GpuStock): GpuSlot => (mode === 'shared' ? 'cuda.shares' : 'cuda.device')

/** The GPUs among which a request for this slot can choose. */
export const stockOf = (gpus: readonly GpuStock[], slot: GpuSlot | undefined): readonly GpuStock[] =>
  gpus.filter(stock => slotOf(stock) === slot)

const accepts = (choice: GpuChoice | null, { model, memBytes, mode }: GpuStock) =>
  choice === null || isChosen(choice, { model, memBytes, isMig: mode === 'mig' })

/** Whether a host has such GPUs. */
export const isThere = (choice: GpuChoice, gpus: readonly GpuStock[]) => gpus.some(stock => accepts(choice, stock))

/** Free amount of the chosen GPUs, in base units of the slot, over all hosts. */
export function freeOf(choice: GpuChoice, gpus: readonly GpuStock[], slot: GpuSlot): number {
  const free = stockOf(gpus, slot).filter(stock => accepts(choice, stock))
  return free.reduce((sum, stock) => sum + (parseAmount(slot, stock.free) ?? 0), 0)
}

/**
 * Any GPU, each model, and the least memory if the models differ in it. A choice that no host meets is listed too: the form holds it.
 *
 * @param gpus of the slot that is asked for
 * @param limits of the user on models
 */
export function gpuOptions(
  gpus: readonly GpuStock[],
  chosen: GpuChoice | null,
  limits: readonly GpuLimitUse[] = [],
): GpuOption[] {
  const models = gpus.map(choiceOf)
  const memories = [
    ...new Set(gpus.filter(({ memBytes }) => memBytes > 0).map(({ memBytes }) => countedMemory(memBytes))),
  ]
  const larger = memories.toSorted((a, b) => a - b).slice(1)
  const choices = [...models, ...larger.map((bytes): GpuChoice => ({ memory: String(bytes) }))]
  if (chosen !== null) choices.push(chosen)
  const unique = new Map([null, ...choices].map(choice => [JSON.stringify(choice), choice]))
  return [...unique.values()].map(choice => {
    const facts = [countText(choice, gpus), limitNote(choice, gpus, limits)].filter(Boolean)
    return { choice, title: titleOf(choice), subtitle: facts.join(' · ') }
  })
}

/** The choice of all GPUs that are like these. */
function choiceOf({ model, mode }: GpuStock): GpuChoice {
  if (mode !== 'mig') return { model }
  const migProfile = profileOf(model)
  return { model: model.slice(0, -migProfile.length).trim(), migProfile }
}

export function titleOf(choice: GpuChoice | null): string {
  if (choice === null) return t('anyGpu')
  const { model, memory, migProfile } = choice
  if (memory === undefined || model !== undefined || migProfile !== undefined) return choiceText(choice)
  return t('gpuWithMemory', { amount: formatBytes(parseAmount('mem', memory) ?? 0) })
}

/** Text about the rest of the limit on a model, if all accepted GPUs count towards it; empty otherwise. */
export function limitNote(choice: GpuChoice | null, gpus: readonly GpuStock[], limits: readonly GpuLimitUse[]): string {
  const accepted = gpus.filter(stock => accepts(choice, stock))
  if (accepted.length === 0) return ''
  const applying = limits.filter(({ model }) =>
    accepted.every(stock => isOfModel(model, { model: stock.model, isMig: stock.mode === 'mig' })),
  )
  const [least] = applying.toSorted((a, b) => Number(a.left) - Number(b.left))
  return least ? t('gpuLimitLeft', { left: least.left, limit: least.limit }) : ''
}

function countText(choice: GpuChoice | null, gpus: readonly GpuStock[]): string {
  const accepted = gpus.filter(stock => accepts(choice, stock))
  if (accepted.length === 0) return t('noSuchGpu')
  const total = accepted.reduce((sum, stock) => sum + stock.total, 0)
  const base = (stock: GpuStock) => SLOTS[slotOf(stock)].base
  const free = accepted.reduce((sum, stock) => sum + (parseAmount(slotOf(stock), stock.free) ?? 0) / base(stock), 0)
  const counts = t('gpusFree', { free: formatNumber(Math.round(free * 100) / 100), total: formatNumber(total) })
  const sizes = new Set(accepted.map(({ memBytes }) => countedMemory(memBytes)))
  const [size = 0] = sizes
  return sizes.size === 1 && size > 0 ? `${formatBytes(size)} · ${counts}` : counts
}
