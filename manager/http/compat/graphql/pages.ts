import { AppError } from '#manager/contract'

/** Arguments of the lists of the original. */
export interface ListArguments {
  readonly limit: number
  readonly offset: number
  readonly filter?: string | null
  readonly order?: string | null
}

const PAGE = 500
/** Farthest item that a list reaches, because pages of Berth are read one after the other. */
const MOST_OFFSET = 10_000
const MOST_ITEMS = 1_000

interface Part<T> {
  readonly items: readonly T[]
  readonly nextCursor: string | null
  readonly total: number
}

/** Reads what is between `offset` and `offset + limit` of a list that Berth has in pages. @throws AppError `bad_request` */
export async function readSlice<T>(
  { limit, offset }: Pick<ListArguments, 'limit' | 'offset'>,
  read: (page: { limit: number; cursor?: string }) => Promise<Part<T>>,
): Promise<{ items: T[]; total_count: number }> {
  checkSlice({ limit, offset })
  const end = offset + limit
  const items: T[] = []
  // Items before the wanted part are not kept.
  let at = 0
  let cursor: string | undefined
  let total = 0
  do {
    const page = await read({
      limit: Math.max(1, Math.min(PAGE, end - at)),
      ...(cursor === undefined ? {} : { cursor }),
    })
    items.push(...page.items.slice(Math.max(0, offset - at)))
    at += page.items.length
    total = page.total
    cursor = page.nextCursor ?? undefined
  } while (cursor !== undefined && at < end)
  return { items: items.slice(0, limit), total_count: total }
}

/** The same of a list that is there as a whole. */
export function sliceOf<T>(all: readonly T[], { limit, offset }: Pick<ListArguments, 'limit' | 'offset'>) {
  checkSlice({ limit, offset })
  return { items: all.slice(offset, offset + limit), total_count: all.length }
}

function checkSlice({ limit, offset }: Pick<ListArguments, 'limit' | 'offset'>): void {
  if (limit < 0 || limit > MOST_ITEMS)
    throw new AppError('bad_request', { why: `limit: must be from 0 to ${MOST_ITEMS}.` })
  if (offset < 0 || offset + limit > MOST_OFFSET)
    throw new AppError('bad_request', { why: `offset: lists reach up to their item ${MOST_OFFSET}. Narrow the list.` })
}

/**
 * The order of a list: the first key of the original's, such as `+name` or `-created_at`, as Berth writes it.
 *
 * @param keys of Berth by those of the original
 * @throws AppError `bad_request` for another key
 */
export function readOrder(
  order: string | null | undefined,
  keys: Readonly<Record<string, string>>,
): string | undefined {
  const [first = ''] = (order ?? '').split(',')
  if (first.trim() === '') return undefined
  const [, sign, key = ''] = /^\s*([+-]?)\s*(\w{1,64})\s*$/.exec(first) ?? []
  const own = keys[key]
  if (own === undefined)
    throw new AppError('bad_request', { why: `order: Berth sorts by ${Object.keys(keys).join(', ')} here.` })
  return (sign === '-' ? '-' : '') + own
}

/**
 * The filter of a list, as far as Berth has one: `name == "x"` and `name ilike "%x%"`, joined by `&`.
 *
 * @param fields that may be named
 * @throws AppError `bad_request` for anything else
 */
export function readFilter(
  filter: string | null | undefined,
  fields: readonly string[],
): Readonly<Record<string, string>> {
  const found: Record<string, string> = {}
  const text = (filter ?? '').slice(0, 2_000).trim()
  if (text === '') return found
  for (const part of text.split('&')) {
    const [, field = '', value = ''] =
      /^\s*\(?\s*(\w{1,64})\s*(?:==|ilike|like)\s*"([^"]{0,254})"\s*\)?\s*$/.exec(part) ?? []
    if (!fields.includes(field))
      throw new AppError('bad_request', {
        why: `filter: Berth takes ${fields.map(name => `${name} == "…"`).join(' and ')} here.`,
      })
    found[field] = value.replaceAll('%', '')
  }
  return found
}
