import { type z } from 'zod'
import { AppError } from '#manager/contract'
import { mapInSlices } from './in-slices.ts'
import { AgentImage, FromAgent, KernelReport, Report, StatsBatch } from '#agent/contract'

/** What an agent sent, as far as it has the form of a message. */
export interface ReadMessage {
  readonly message: FromAgent
  /** What was left out of it, in sentences for an admin. */
  readonly leftOut: readonly string[]
}

/** Only reports, which list images, and replies, which carry logs, may be longer. */
const MAX_BYTES = 1024 * 1024
const MAY_BE_LONG = /^\{"type":"(report|reply)"/
const TOLD = 3

/**
 * The door for what accepted agents say. Threat model: an agent is trusted with its own sessions only, and may be hostile. A
 * message that is too long for its kind is not parsed. What has no place in the database (U+0000, halves of surrogate
 * pairs) is taken out of every text. A list is read item by item, so that one that is not as it should be costs that one,
 * and the admin is told; everything else must be of the form of the contract.
 *
 * @throws AppError `bad_request`
 */
export function readMessage(text: string): ReadMessage {
  if (text.length > MAX_BYTES && !MAY_BE_LONG.test(text)) {
    throw new AppError('bad_request', { why: 'A control message is longer than one of its kind may be.' })
  }
  const json = parse(text)
  return checked(isStorable(text) ? json : storable(json))
}

/** Longer reports take a noticeable time to read: they list thousands of images or containers. */
const LONG_REPORT = 256 * 1024
const LISTS: ReadonlySet<string> = new Set(['images', 'kernels'])
export const isLongReport = (text: string) => text.length > LONG_REPORT && /^\{"type":"report"/.test(text)

/**
 * Reads a report like `readMessage`, but its lists in slices: timers and other connections have their turn meanwhile.
 *
 * @throws AppError `bad_request`
 */
export async function readLongReport(
  text: string,
): Promise<{ readonly message: Report; readonly leftOut: readonly string[] }> {
  // Such a text begins as an object does.
  const json = parse(text) as Fields
  const clean = isStorable(text) ? (value: unknown) => value : storable
  const emptied = Object.entries(json).map(([key, held]) => [key, LISTS.has(key) && Array.isArray(held) ? [] : held])
  const { message, leftOut } = checked(clean(Object.fromEntries(emptied)))
  if (message.type !== 'report') throw new AppError('bad_request', { why: 'A control message has two types.' })
  const readList = async <T>(list: unknown, schema: z.ZodType<T>, what: string): Promise<T[]> => {
    if (!Array.isArray(list)) return []
    const read = await mapInSlices(list as unknown[], item => schema.safeParse(clean(item)))
    leftOut.unshift(...toldOf(what, read))
    return read.flatMap(({ success, data }) => (success ? [data] : []))
  }
  const lists = {
    kernels: await readList(json.kernels, KernelReport, 'container'),
    ...(message.images ? { images: await readList(json.images, AgentImage, 'image') } : {}),
  }
  return { message: { ...message, ...lists }, leftOut: leftOut.slice(0, TOLD) }
}

/** @throws AppError `bad_request` */
function checked(json: unknown): { message: FromAgent; leftOut: string[] } {
  const whole = FromAgent.safeParse(json)
  if (whole.success) return { message: whole.data, leftOut: [] }
  const { repaired, leftOut } = repair(json)
  const rest = FromAgent.safeParse(repaired)
  if (rest.success) return { message: rest.data, leftOut }
  throw new AppError('bad_request', { why: 'A control message has an unknown form.' }, { cause: rest.error })
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new AppError('bad_request', { why: 'A control message is not JSON.' }, { cause: error })
  }
}

/** Nothing has to be taken out. In JSON both are written as escapes, so most messages need not be walked through. */
function isStorable(text: string): boolean {
  return !/\\u(0000|d[89a-f])/i.test(text)
}

/** @returns the same without what PostgreSQL takes in no text */
export function storable(value: unknown): unknown {
  if (typeof value === 'string') return value.replaceAll('\0', '').toWellFormed()
  if (Array.isArray(value)) return value.map(storable)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, held]: [string, unknown]) => [storable(key), storable(held)]),
  )
}

type Fields = Readonly<Record<string, unknown>>

/** Leaves out of a report, or of figures, the items that are not as they should be. */
function repair(json: unknown): { repaired: unknown; leftOut: string[] } {
  const leftOut: string[] = []
  const message = json as Fields
  if (typeof json !== 'object' || json === null) return { repaired: json, leftOut }
  const keep = (list: unknown, schema: z.ZodType, what: string): unknown => {
    if (!Array.isArray(list)) return list
    const read = list.map(item => schema.safeParse(item))
    leftOut.push(...toldOf(what, read))
    return list.filter((_item, index) => read[index]?.success)
  }
  if (message.type === 'stats') {
    return {
      repaired: { ...message, kernels: keep(message.kernels, StatsBatch.shape.kernels.element, 'figure') },
      leftOut,
    }
  }
  if (message.type !== 'report') return { repaired: json, leftOut }
  const { shape } = Report
  const repaired = {
    ...message,
    ...(message.images === undefined ? {} : { images: keep(message.images, AgentImage, 'image') }),
    ...(message.deviceFigures === undefined
      ? {}
      : { deviceFigures: keep(message.deviceFigures, shape.deviceFigures.unwrap().element, 'figure of a device') }),
    kernels: keep(message.kernels, KernelReport, 'container'),
    devices: keep(message.devices, shape.devices.element, 'device'),
    capacity: saneAmounts(message.capacity, leftOut),
  }
  return { repaired, leftOut: leftOut.slice(0, TOLD) }
}

/** What is told of items that were left out: nothing where all are as they should be. */
function toldOf(what: string, read: readonly { readonly error?: z.ZodError | undefined }[]): string[] {
  const wrong = read.flatMap(({ error }) => (error ? [error] : []))
  const [first] = wrong
  return first ? [sentenceOf(what, wrong.length, first)] : []
}

function sentenceOf(what: string, count: number, error: z.ZodError): string {
  const [issue] = error.issues
  const why = issue ? `${issue.path.map(String).join('.')}: ${issue.message}` : 'unknown form'
  return `${count} ${what}${count === 1 ? '' : 's'} left out of what it reports (${why.slice(0, 200)}).`
}

/** Slot by slot: a wrong one counts as nothing. */
function saneAmounts(capacity: unknown, leftOut: string[]): unknown {
  if (typeof capacity !== 'object' || capacity === null) return capacity
  const sane = Object.entries(capacity as Fields).filter(
    ([slot, amount]) => Report.shape.capacity.safeParse({ [slot]: amount }).success,
  )
  const wrong = Object.keys(capacity).length - sane.length
  if (wrong > 0) leftOut.push(`${wrong} of the amounts that it says to have make no sense, and count as none.`)
  return Object.fromEntries(sane)
}
