import { type Command, InvalidArgumentError } from 'commander'
import { parseAmount, SLOT_NAMES, type SlotName, type WireSlots } from '#manager/contract'
import { sizeOption } from './size.ts'

/** Keyword for "no limit" on the command line. */
export const UNLIMITED = 'unlimited'
/**
 * A parsed option. It keeps the keyword until the request is made: commander replaces a null returned by a parser with an empty
 * text.
 */
export type OrUnlimited<T> = T | typeof UNLIMITED

/** Parses a size, e.g. `500g`, to bytes. */
export const parseSizeLimit = (text: string): OrUnlimited<number> => (text === UNLIMITED ? text : sizeOption(text))

/** Parses a number of files, 1 or more. */
export function parseFileLimit(text: string): OrUnlimited<number> {
  if (text === UNLIMITED) return text
  if (/^[1-9]\d{0,9}$/.test(text)) return Number(text)
  throw new InvalidArgumentError(`Give a number of files, such as 100000, or ${UNLIMITED}.`)
}

/** Converts an option to its form in requests: null for no limit. */
export function limitOf<T>(value: OrUnlimited<T>): T | null {
  return value === UNLIMITED ? null : value
}

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
    .option('--gpu-shares <shares>', `GPU shares, e.g. 1.5${or}`, parse('cuda.shares'))
}

/** The previous slots, with the values of the given flags. */
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
  return parseAmountOf(slot)(text)
}

/** Parser of an option for one slot. @throws InvalidArgumentError that names the values the slot accepts */
export function parseAmountOf(slot: SlotName): (text: string) => string {
  return text => {
    if (parseAmount(slot, text) !== undefined) return text
    throw new InvalidArgumentError(WANTED[slot])
  }
}

const WANTED: Readonly<Record<SlotName, string>> = {
  cpu: 'The value must be a number of cores, such as 2 or 0.5.',
  mem: 'The value must be an amount such as 16g.',
  'cuda.device':
    'The value must be a whole number of GPUs. For a share of a GPU use --gpu-shares, e.g. --gpu-shares 0.5.',
  'cuda.shares': 'The value must be a number of GPUs in steps of 0.01, such as 0.5 or 1.25.',
}

/** Parses an option that is a whole number, or `unlimited`. */
export function parseLimit(text: string): OrUnlimited<number> {
  if (text === UNLIMITED) return text
  const count = Number(text)
  if (!Number.isSafeInteger(count) || count < 0) {
    throw new InvalidArgumentError(`The value must be a whole number, or ${UNLIMITED}.`)
  }
  return count
}
