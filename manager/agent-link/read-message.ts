import { AppError, type Because, because, SLOT_NAMES } from '#manager/contract'
import { AgentImage, FromAgent, KernelReport, MOST_DEVICES, Report, StatsBatch } from '#agent/contract'
import { mapInSlices } from './in-slices.ts'
import { createLabelCheck, createListReader, type ListReader } from './list-reader.ts'
import { withStorableText } from '../store/storable-text.ts'

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

/**
 * Validates the messages of accepted agents. Threat model: an agent is trusted with its own sessions only, and may be hostile. A message
 * that is too long for its kind is not parsed. Characters that the database cannot store (U+0000, halves of surrogate pairs) are removed
 * from every text. Lists are read item by item: only the invalid items are dropped, and the admin is told. Rejecting an item takes far
 * longer than sending it, and nobody else is served meanwhile, so after some invalid ones the rest of the list is dropped unread. All other
 * parts must match the contract.
 *
 * @throws AppError `bad_request`
 */
export function readMessage(text: string): ReadMessage {
  if (text.length > MAX_BYTES && !MAY_BE_LONG.test(text)) {
    throw new AppError('bad_request', { why: 'A control message is longer than one of its kind may be.' })
  }
  const { rest, lists } = taken(parse(text))
  const { message, leftOut } = readRest(rest)
  for (const { items, reader } of lists) for (const item of items) reader.read(item)
  return together({ message, leftOut }, lists)
}

/** Reports longer than this take noticeable time to read: they list thousands of images or containers. */
const LONG_REPORT = 256 * 1024
export const isLongReport = (text: string) => text.length > LONG_REPORT && /^\{"type":"report"/.test(text)

/**
 * Reads a report like `readMessage`, but its lists in slices, yielding to timers and other connections in between.
 *
 * @throws AppError `bad_request`
 */
export async function readLongReport(
  text: string,
): Promise<{ readonly message: Report; readonly leftOut: readonly Because[] }> {
  const { rest, lists } = taken(parse(text))
  const { message, leftOut } = readRest(rest)
  if (message.type !== 'report') throw new AppError('bad_request', { why: 'A control message has two types.' })
  for (const { items, reader } of lists) await mapInSlices(items, item => reader.read(item))
  return together({ message, leftOut }, lists)
}

type Fields = Readonly<Record<string, unknown>>

interface List {
  readonly key: string
  readonly items: readonly unknown[]
  readonly reader: ListReader
}

/** Readers of the lists of a message, in the order in which their faults are reported. */
const LISTS: Readonly<Record<string, Readonly<Record<string, () => ListReader>>>> = {
  report: {
    kernels: () => createListReader(KernelReport, 'containers', createLabelCheck()),
    images: () => createListReader(AgentImage, 'images'),
    deviceFigures: () => createListReader(Report.shape.deviceFigures.unwrap().element, 'figures'),
    devices: () => createListReader(Report.shape.devices.element, 'devices'),
  },
  stats: { kernels: () => createListReader(StatsBatch.shape.kernels.element, 'figures') },
}

/** Takes the lists out of a message. A value that is not a list, or is longer than a host can have, stays in the message and is refused. */
function taken(json: unknown): { rest: unknown; lists: readonly List[] } {
  if (typeof json !== 'object' || json === null) return { rest: json, lists: [] }
  const message = json as Fields
  const lists = Object.entries(LISTS[String(message.type)] ?? {}).flatMap(([key, createReader]): List[] => {
    const items = message[key]
    if (!Array.isArray(items) || (key === 'devices' && items.length > MOST_DEVICES)) return []
    return [{ key, items: items as unknown[], reader: createReader() }]
  })
  return { rest: { ...message, ...Object.fromEntries(lists.map(({ key }) => [key, []])) }, lists }
}

/** @throws AppError `bad_request` */
function readRest(rest: unknown): { message: FromAgent; leftOut: readonly Because[] } {
  const whole = FromAgent.safeParse(rest)
  if (whole.success) return { message: whole.data, leftOut: [] }
  const { repaired, leftOut } = withSaneAmounts(rest)
  const again = FromAgent.safeParse(repaired)
  if (again.success) return { message: again.data, leftOut }
  throw new AppError('bad_request', { why: 'A control message has an unknown form.' }, { cause: again.error })
}

function together<Message extends FromAgent>(
  { message, leftOut }: { readonly message: Message; readonly leftOut: readonly Because[] },
  lists: readonly List[],
): { readonly message: Message; readonly leftOut: readonly Because[] } {
  const read = Object.fromEntries(lists.map(({ key, reader }) => [key, reader.valid]))
  const told = [...lists.flatMap(({ reader }) => reader.leftOut()), ...leftOut]
  return { message: { ...message, ...read }, leftOut: told.slice(0, TOLD) }
}

/** @throws AppError `bad_request` */
function parse(text: string): unknown {
  try {
    return JSON.parse(withStorableText(text))
  } catch (error) {
    throw new AppError('bad_request', { why: 'A control message is not JSON.' }, { cause: error })
  }
}

const SLOTS: ReadonlySet<string> = new Set(SLOT_NAMES)

/** Drops invalid amounts of a report, slot by slot; a dropped slot counts as nothing. */
function withSaneAmounts(rest: unknown): { repaired: unknown; leftOut: readonly Because[] } {
  const { type, capacity } = (rest ?? {}) as Fields
  if (type !== 'report' || typeof capacity !== 'object' || capacity === null) return { repaired: rest, leftOut: [] }
  const known = Object.entries(capacity as Fields).filter(([slot]) => SLOTS.has(slot))
  const sane = known.filter(([slot, amount]) => Report.shape.capacity.safeParse({ [slot]: amount }).success)
  const wrong = known.length - sane.length
  const repaired = { ...(rest as Fields), capacity: Object.fromEntries(sane) }
  return { repaired, leftOut: wrong > 0 ? [because('report_amounts_wrong', { count: wrong })] : [] }
}
