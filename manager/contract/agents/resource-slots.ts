import { z } from 'zod'
import { TextUpTo } from '../plain-text.ts'

/**
 * Resource slots and their units: `cpu` in 1/1000 core, `mem` in bytes, `cuda.device` in whole devices, `cuda.shares` in 1/100 of a
 * device. On the wire amounts are decimal strings (`"0.5"`, `"4294967296"` or `"4g"`); in code safe integers of these
 * base units, so that three times 0.3 is 0.9.
 */
export const SLOTS = {
  cpu: { type: 'COUNT', base: 1000, label: 'CPU', unit: 'cores' },
  mem: { type: 'BYTES', base: 1, label: 'RAM', unit: 'bytes' },
  'cuda.device': { type: 'COUNT', base: 1, label: 'GPU', unit: 'devices' },
  'cuda.shares': { type: 'COUNT', base: 100, label: 'fGPU', unit: 'shares' },
} as const

export type SlotName = keyof typeof SLOTS
export const SLOT_NAMES = Object.keys(SLOTS) as readonly SlotName[]

/** Characters of an amount that a request names: digits, a point, digits, spaces and a unit. */
export const MOST_AMOUNT = 40

/** Base units; a missing slot means 0. */
export type ResourceSlots = Readonly<Partial<Record<SlotName, number>>>

const BYTE_UNITS: Readonly<Record<string, number>> = { '': 1, k: 2 ** 10, m: 2 ** 20, g: 2 ** 30, t: 2 ** 40 }

/**
 * @param text decimal, for BYTES also with a binary unit: `512m`, `1.5g`, `2GiB`
 * @returns base units; undefined if the text is not an amount, is negative, is larger than a safe integer, or is finer than the base unit
 *   (fractions of a byte are dropped instead)
 */
export function parseAmount(slot: SlotName, text: string): number | undefined {
  const match = /^(\d{1,15})(?:\.(\d{1,9}))?\s*(?:([kmgt])(?:i?b)?|b)?$/i.exec(text.trim())
  if (!match) return undefined
  const [, whole = '', fraction = '', unit = ''] = match
  const bytes = SLOTS[slot].type === 'BYTES'
  if (!bytes && /[a-z]/i.test(text)) return undefined
  const scale = bytes ? (BYTE_UNITS[unit.toLowerCase()] ?? 1) : SLOTS[slot].base
  const digits = BigInt(whole + fraction) * BigInt(scale)
  const divisor = 10n ** BigInt(fraction.length)
  if (digits % divisor !== 0n && !bytes) return undefined
  const amount = Number(digits / divisor)
  return Number.isSafeInteger(amount) ? amount : undefined
}

/** Shortest exact decimal: 1500 mCPU → `"1.5"`, bytes stay an integer. */
export function formatAmount(slot: SlotName, amount: number): string {
  const { base } = SLOTS[slot]
  if (base === 1) return String(amount)
  const digits = String(base).length - 1
  return (amount / base).toFixed(digits).replace(/\.?0+$/, '')
}

/** Schema of an amount of one slot. */
export const amountOf = (slot: SlotName) =>
  TextUpTo(MOST_AMOUNT).refine(text => parseAmount(slot, text) !== undefined, {
    message: `must be ${ACCEPTED[slot]}`,
  })

const ACCEPTED: Readonly<Record<SlotName, string>> = {
  cpu: 'a number of cores in steps of 0.001, such as "2" or "0.5"',
  mem: 'an amount of memory, such as "4g" or "512m"',
  'cuda.device': 'a whole number of GPUs, such as "2"; a part of a GPU is an amount of "cuda.shares"',
  'cuda.shares': 'a number of GPUs in steps of 0.01, such as "0.5"',
}

/** Wire form of amounts by slot. */
export const WireSlots = z
  .strictObject({
    cpu: amountOf('cpu').optional(),
    mem: amountOf('mem').optional(),
    'cuda.device': amountOf('cuda.device').optional(),
    'cuda.shares': amountOf('cuda.shares').optional(),
  })
  .meta({ id: 'ResourceSlots', description: 'Amounts as decimal strings; mem takes binary units such as "4g".' })
export type WireSlots = z.infer<typeof WireSlots>

/** @throws RangeError for an amount that the schema would have refused */
export function parseSlots(wire: WireSlots): ResourceSlots {
  const slots: Partial<Record<SlotName, number>> = {}
  for (const name of SLOT_NAMES) {
    const text = wire[name]
    if (text === undefined) continue
    const amount = parseAmount(name, text)
    if (amount === undefined) throw new RangeError(`${name}: "${text}" is no amount`)
    slots[name] = amount
  }
  return slots
}

export function formatSlots(slots: ResourceSlots): WireSlots {
  return Object.fromEntries(
    SLOT_NAMES.flatMap(name => {
      const amount = slots[name]
      return amount === undefined ? [] : [[name, formatAmount(name, amount)]]
    }),
  )
}

export function addSlots(a: ResourceSlots, b: ResourceSlots): ResourceSlots {
  return combine(a, b, (x, y) => x + y)
}

/** Subtracts `b` from `a`. Amounts may go below zero: a caller that wants a floor applies it. */
export function subtractSlots(a: ResourceSlots, b: ResourceSlots): ResourceSlots {
  return combine(a, b, (x, y) => x - y)
}

function combine(a: ResourceSlots, b: ResourceSlots, op: (x: number, y: number) => number): ResourceSlots {
  const names = SLOT_NAMES.filter(name => a[name] !== undefined || b[name] !== undefined)
  return Object.fromEntries(names.map(name => [name, op(a[name] ?? 0, b[name] ?? 0)]))
}

/** Slots whose `requested` amount exceeds the `available` one; empty if the request fits. */
export function lackingSlots(requested: ResourceSlots, available: ResourceSlots): SlotName[] {
  return SLOT_NAMES.filter(name => (requested[name] ?? 0) > Math.max(0, available[name] ?? 0))
}
