import { type IncomingMessage } from 'node:http'
import { PUBLIC_OPEN_PATH } from '#manager/contract'

/** Enough for a key and a password, or a ticket and a path. */
const MOST_BYTES = 8192
const BODY_MS = 10_000
/** Longest key that the manager takes. */
const LONGEST_KEY = 200

/** The key of a link in the address of a request. */
export function keyIn(url: string | undefined): string | undefined {
  if (url?.startsWith(`${PUBLIC_OPEN_PATH}?`) !== true) return undefined
  const key = new URLSearchParams(url.slice(PUBLIC_OPEN_PATH.length)).get('key')
  return key === null || key.length > LONGEST_KEY ? undefined : key
}

/** Fields of a form that a visitor sends; undefined for a body that is too long. */
export async function readForm(request: IncomingMessage): Promise<URLSearchParams | undefined> {
  const chunks: Buffer[] = []
  let size = 0
  const deadline = setTimeout(() => request.destroy(), BODY_MS)
  try {
    for await (const chunk of request.iterator({ destroyOnReturn: false })) {
      const bytes = chunk as Buffer
      size += bytes.length
      if (size > MOST_BYTES) return undefined
      chunks.push(bytes)
    }
    return new URLSearchParams(Buffer.concat(chunks).toString('utf8'))
  } finally {
    clearTimeout(deadline)
  }
}
