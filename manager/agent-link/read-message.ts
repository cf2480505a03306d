import { type z } from 'zod'
import { AppError, type Because, because } from '#manager/contract'
import { mapInSlices } from './in-slices.ts'
import { withStorableText } from '../store/storable-text.ts'
import { AgentImage, FromAgent, KernelReport, Report, StatsBatch } from '#agent/contract'

/** The valid part of a message that an agent sent. */
export interface ReadMessage {
  readonly message: FromAgent
  /** The parts that were left out, for an admin. */
  readonly leftOut: readonly Because[]
}

/** Limit of messages. Only reports, which list images, and replies, which carry logs, may be longer. */
const MAX_BYTES = 1024 * 1024
const MAY_BE_LONG = /^\{"type":"(report|reply)"/
const TOLD = 3
type Item = 'containers' | 'images' | 'devices' | 'figures'

/**
 * Validates the messages of accepted agents. Threat model: an agent is trusted with its own sessions only, and may be
 * hostile. A message that is too long for its kind is not parsed. Characters that the database cannot store (U+0000,
 * halves of surrogate pairs) are removed from every text. Lists are read item by item: an invalid item is dropped
 * alone, and the admin is told. Everything else must match the contract.
 *
 * @throws AppError `bad_request`
 */
export function readMessage(text: string): ReadMessage {
  if (text.length > MAX_BYTES && !MAY_BE_LONG.test(text)) {
    throw new AppError('bad_request', { why: 'A control message is longer than one of its kind may be.' })
  }
  return checked(parse(text))
}

/** Reports longer than this take noticeable time to read: they list thousands of images or containers. */
const LONG_REPORT = 256 * 1024
const LISTS: ReadonlySet<string> = new Set(['images', 'kernels'])
export const isLongReport = (text: string) => text.length > LONG_REPORT && /^\{"type":"report"/.test(text)

/**
 * Reads a report like `readMessage`, but its lists in slices, yielding to timers and other connections in between.
 *
 * @throws AppError `bad_request`
 */
export async function readLongReport(
  text: string,
): Promise<{ readonly message: Report; readonly leftOut: readonly Because[] }> {
  // The caller has checked that the text begins as an object (`isLongReport`).
  const json = parse(text) as Fields
  const emptied = Object.entries(json).map(([key, held]) => [key, LISTS.has(key) && Array.isArray(held) ? [] : held])
  const { message, leftOut } = checked(Object.fromEntries(emptied))
  if (message.type !== 'report') throw new AppError('bad_request', { why: 'A control message has two types.' })
  const readList = async <T>(list: unknown, schema: z.ZodType<T>, what: Item): Promise<T[]> => {
    if (!Array.isArray(list)) return []
    const read = await mapInSlices(list as unknown[], item => schema.safeParse(item))
    leftOut.unshift(...toldOf(what, read))
    return read.flatMap(({ success, data }) => (success ? [data] : []))
  }
  const lists = {
    kernels: await readList(json.kernels, KernelReport, 'containers'),
    ...(message.images ? { images: await readList(json.images, AgentImage, 'images') } : {}),
  }
  return { message: { ...message, ...lists }, leftOut: leftOut.slice(0, TOLD) }
}

/** @throws AppError `bad_request` */
function checked(json: unknown): { message: FromAgent; leftOut: Because[] } {
  const whole = FromAgent.safeParse(json)
  if (whole.success) return { message: whole.data, leftOut: [] }
  const { repaired, leftOut } = repair(json)
  const rest = FromAgent.safeParse(repaired)
  if (rest.success) return { message: rest.data, leftOut }
  throw new AppError('bad_request', { why: 'A control message has an unknown form.' }, { cause: rest.error })
}

/** @throws AppError `bad_request` */
function parse(text: string): unknown {
  try {
    return JSON.parse(withStorableText(text))
  } catch (error) {
    throw new AppError('bad_request', { why: 'A control message is not JSON.' }, { cause: error })
  }
}

type Fields = Readonly<Record<string, unknown>>

/** Drops invalid items from a report or from statistics. */
function repair(json: unknown): { repaired: unknown; leftOut: Because[] } {
  const leftOut: Because[] = []
  const message = json as Fields
  if (typeof json !== 'object' || json === null) return { repaired: json, leftOut }
  const keep = (list: unknown, schema: z.ZodType, what: Item): unknown => {
    if (!Array.isArray(list)) return list
    const read = list.map(item => schema.safeParse(item))
    leftOut.push(...toldOf(what, read))
    return list.filter((_item, index) => read[index]?.success)
  }
  if (message.type === 'stats') {
    return {
      repaired: { ...message, kernels: keep(message.kernels, StatsBatch.shape.kernels.element, 'figures') },
      leftOut,
    }
  }
  if (message.type !== 'report') return { repaired: json, leftOut }
  const { shape } = Report
  const repaired = {
    ...message,
    ...(message.images === undefined ? {} : { images: keep(message.images, AgentImage, 'images') }),
    ...(message.deviceFigures === undefined
      ? {}
      : { deviceFigures: keep(message.deviceFigures, shape.deviceFigures.unwrap().element, 'figures') }),
    kernels: keep(message.kernels, KernelReport, 'containers'),
    devices: keep(message.devices, shape.devices.element, 'devices'),
    capacity: saneAmounts(message.capacity, leftOut),
  }
  return { repaired, leftOut: leftOut.slice(0, TOLD) }
}

/** Sentences about dropped items; none if all are valid. */
function toldOf(what: Item, read: readonly { readonly error?: z.ZodError | undefined }[]): Because[] {
  const wrong = read.flatMap(({ error }) => (error ? [error] : []))
  const [first] = wrong
  if (!first) return []
  const [issue] = first.issues
  const text = issue ? `${issue.path.map(String).join('.')}: ${issue.message}`.slice(0, 200) : '?'
  return [because(`report_${what}_left_out`, { count: wrong.length, text })]
}

/** Drops invalid amounts, slot by slot; a dropped slot counts as nothing. */
function saneAmounts(capacity: unknown, leftOut: Because[]): unknown {
  if (typeof capacity !== 'object' || capacity === null) return capacity
  const sane = Object.entries(capacity as Fields).filter(
    ([slot, amount]) => Report.shape.capacity.safeParse({ [slot]: amount }).success,
  )
  const wrong = Object.keys(capacity).length - sane.length
  if (wrong > 0) leftOut.push(because('report_amounts_wrong', { count: wrong }))
  return Object.fromEntries(sane)
}
