import { createHash } from 'node:crypto'
import { z } from 'zod'
import { parseJson } from '#base/parse-json'
import { AppError } from '#manager/contract'
import { SealedKey } from './sealed-key.ts'

/**
 * A backup is gzip of lines of JSON: the header, then rows and counters, then the end with a checksum of all lines before
 * it. A file that was cut off or changed has no valid end and is refused as a whole.
 */
export const FORMAT_VERSION = 1

export const Header = z.object({
  berthBackup: z.int(),
  createdAt: z.string(),
  /** Names of the migrations that created the tables. */
  schema: z.array(z.string()),
  tables: z.array(z.object({ name: z.string(), columns: z.array(z.string()) })),
  masterKey: SealedKey.nullable(),
  /** Key of Berth's own certificate, by which agents and command lines recognise the server. Left out by older versions. */
  tlsKey: SealedKey.optional(),
})
export type Header = z.infer<typeof Header>

/** `row`: number of the table in the header, and PostgreSQL's own text form of the row, which loses nothing. */
const Line = z.union([
  z.object({ row: z.tuple([z.int(), z.string()]) }),
  z.object({ counter: z.object({ table: z.string(), column: z.string(), value: z.string() }) }),
  z.object({ end: z.object({ rows: z.int(), sha256: z.string() }) }),
])
export type Entry = { row: [number, string] } | { counter: { table: string; column: string; value: string } }

const damaged = (why: string, cause?: unknown) => new AppError('backup_damaged', { why }, { cause })

/** Yields the lines of a file, the end included. */
export async function* encode(header: Header, entries: AsyncIterable<Entry>): AsyncGenerator<string> {
  const hash = createHash('sha256')
  let rows = 0
  const line = (value: unknown) => {
    const text = `${JSON.stringify(value)}\n`
    hash.update(text)
    return text
  }
  yield line(header)
  for await (const entry of entries) {
    if ('row' in entry) rows++
    yield line(entry)
  }
  yield `${JSON.stringify({ end: { rows, sha256: hash.digest('hex') } })}\n`
}

/**
 * Reads the lines that `encode` wrote. The iteration ends without an error only after a valid end, so do not commit
 * earlier entries before that.
 * @throws AppError `backup_damaged`, `data_version_unsupported`
 */
export async function decode(
  lines: AsyncIterable<string>,
): Promise<{ header: Header; entries: AsyncGenerator<Entry> }> {
  const hash = createHash('sha256')
  const source = lines[Symbol.asyncIterator]()
  const next = async (): Promise<string | undefined> => {
    try {
      const step: IteratorResult<string, unknown> = await source.next()
      return step.done ? undefined : step.value
    } catch (error) {
      throw damaged('The file cannot be decompressed.', error)
    }
  }
  const first = await next()
  if (first === undefined) throw damaged('The file is empty.')
  hash.update(`${first}\n`)
  const version = z.object({ berthBackup: z.int() }).safeParse(parseJson(first))
  if (!version.success) throw damaged('This is not a backup of Berth.')
  if (version.data.berthBackup !== FORMAT_VERSION)
    throw new AppError('data_version_unsupported', {
      why: `The backup has format ${version.data.berthBackup}; this Berth reads ${FORMAT_VERSION}.`,
    })
  const header = Header.safeParse(parseJson(first))
  if (!header.success) throw damaged('The header of the file is not valid.')

  async function* entries(): AsyncGenerator<Entry> {
    let rows = 0
    for (let text = await next(); text !== undefined; text = await next()) {
      const line = Line.safeParse(parseJson(text))
      if (!line.success) throw damaged('A line of the file is not valid.')
      if ('end' in line.data) {
        if (line.data.end.rows !== rows || line.data.end.sha256 !== hash.digest('hex'))
          throw damaged('The checksum does not match the content.')
        if ((await next()) !== undefined) throw damaged('The file has more data after its end mark.')
        return
      }
      if ('row' in line.data) rows++
      hash.update(`${text}\n`)
      yield line.data
    }
    throw damaged('The file is not complete.')
  }
  return { header: header.data, entries: entries() }
}
