import { AppError, because } from '#manager/contract'
import { type Fetch } from '../network/direct-fetch.ts'
import { type KeySeen } from './keys.ts'
import {
  isNewer,
  MAX_MANIFEST_BYTES,
  readManifest,
  type Seen,
  type UpdateManifest,
  type UpdateSource,
} from './manifest.ts'

export interface Found {
  readonly manifest: UpdateManifest
  /** Key that signed the list. */
  readonly key: KeySeen
  readonly isNewer: boolean
}

const WITHIN_MS = 15_000

/** Fetches the list of updates and judges it. @throws AppError `unavailable` if there is no answer; as `readManifest` and `isNewer` */
export async function checkForUpdate(source: UpdateSource, seen: Seen, fetch: Fetch): Promise<Found> {
  const { host } = new URL(source.url)
  const reply = await fetch(source.url, { redirect: 'error', signal: AbortSignal.timeout(WITHIN_MS) }).catch(
    (error: unknown) => {
      throw new AppError('unavailable', because('updates_away', { host }), { cause: error })
    },
  )
  if (!reply.ok || !reply.body)
    throw new AppError('unavailable', because('updates_no_list', { host, status: reply.status }))
  const { manifest, key } = readManifest(await textOf(reply.body), source.publicKey, seen.key)
  return { manifest, key, isNewer: isNewer(manifest, seen) }
}

async function textOf(body: ReadableStream<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of body) {
    bytes += chunk.length
    if (bytes > MAX_MANIFEST_BYTES) throw new AppError('forbidden', because('updates_list_long'))
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}
