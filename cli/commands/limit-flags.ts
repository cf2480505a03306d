import { type Command, InvalidArgumentError } from 'commander'
import { parseAmount, SLOT_NAMES, type SlotName, type WireSlots } from '#manager/contract'

/** What a person types where there is no limit. */
export const UNLIMITED = 'unlimited'

export interface SlotFlags {
  cpu?: string
  mem?: string
  gpu?: string
  gpuShares?: string
}

const FLAGS = { cpu: 'cpu', mem: 'mem', 'cuda.device': 'gpu', 'cuda.shares': 'gpuShares' } as const

/** Adds --cpu, --mem, --gpu and --gpu-shares. */
export function withSlots(command: Command, orUnlimited: boolean): Command {
  const or = orUnlimited ? `, or ${UNLIMITED}` : ''
  const parse = (slot: SlotName) => (text: string) => parseSlot(slot, text, orUnlimited)
  return command
    .option('--cpu <cores>', `e.g. 4 or 0.5${or}`, parse('cpu'))
    .option('--mem <amount>', `e.g. 16g${or}`, parse('mem'))
    .option('--gpu <devices>', `whole GPUs${or}`, parse('cuda.device'))
    .option('--gpu-shares <shares>', `parts of GPUs, e.g. 1.5${or}`, parse('cuda.shares'))
}

/** The slots as they were, with those changed that a flag names. */
export function slotsOf(flags: SlotFlags, before: WireSlots = {}): WireSlots {
  return Object.fromEntries(
    SLOT_NAMES.flatMap(slot => {
      const value = flags[FLAGS[slot]] ?? before[slot]
      return value === undefined || value === UNLIMITED ? [] : [[slot, value]]
    }),
  )
}

export function namesSlots(flags: SlotFlags): boolean {
  return SLOT_NAMES.some(slot => flags[FLAGS[slot]] !== undefined)
}

function parseSlot(slot: SlotName, text: string, orUnlimited: boolean): string {
  if (orUnlimited && text === UNLIMITED) return text
  if (parseAmount(slot, text) === undefined) {
    throw new InvalidArgumentError(slot === 'mem' ? 'It must be an amount such as 16g.' : 'It must be a number.')
  }
  return text
}

/** A whole number, or null for `unlimited`. */
export function parseLimit(text: string): number | null {
  if (text === UNLIMITED) return null
  const count = Number(text)
  if (!Number.isSafeInteger(count) || count < 0) {
    throw new InvalidArgumentError(`It must be a whole number, or ${UNLIMITED}.`)
  }
  return count
}
