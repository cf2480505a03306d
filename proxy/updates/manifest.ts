import { z } from 'zod'
import { parseJson } from '#base/parse-json'
import { AppError, because } from '#manager/contract'
import {
  followHandovers,
  fingerprintOf,
  type KeySeen,
  MAX_HANDOVERS,
  openSigned,
  refuseList,
  SignedText,
} from './keys.ts'

/** Where new versions are listed, and whose signature counts. Part of a package (`berthUpdates` of its package.json); a clone has none. */
const UpdateSource = z.strictObject({
  /** Address of the signed list; files are beside it. */
  url: z.string().refine(isSafe, 'must be an https:// address'),
  /** Ed25519 public key that signs the list, or handed over to the one that does (`keys.ts`): base64 of its SPKI form. */
  publicKey: z.base64(),
})
export type UpdateSource = z.infer<typeof UpdateSource>

const Version = z.string().regex(/^\d{1,5}\.\d{1,5}\.\d{1,5}$/)

export const UpdateFile = z.object({
  platform: z.enum(['linux', 'darwin', 'win32']),
  arch: z.enum(['x64', 'arm64']),
  kind: z.enum(['deb', 'rpm', 'tar.gz', 'AppImage', 'dmg', 'exe']),
  name: z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._+-]{0,199}$/),
  sizeBytes: z
    .int()
    .min(1)
    .max(2 * 2 ** 30),
  /** Hexadecimal. */
  sha512: z.string().regex(/^[0-9a-f]{128}$/),
})
export type UpdateFile = z.infer<typeof UpdateFile>

const UpdateManifest = z.object({
  version: Version,
  /** Rises with every list that is signed, so that an old one is known as such. */
  serial: z.int().min(1),
  /** After this time the list is invalid, so that somebody who withholds newer lists is noticed. */
  expiresAt: z.iso.datetime(),
  files: z.array(UpdateFile).max(100),
})
export type UpdateManifest = z.infer<typeof UpdateManifest>

/** The list as it is published. */
const Envelope = SignedText.extend({ handovers: z.array(SignedText).max(MAX_HANDOVERS).default([]) })

export const MAX_MANIFEST_BYTES = 256 * 1024
/** Prefix of the signed bytes, so that a signature for something else never fits. */
export const SIGNED_AS = 'berth-update-v1\n'

/** @returns undefined if this Berth looks for no updates */
export function updateSourceOf(packageJson: unknown): UpdateSource | undefined {
  const { berthUpdates } = z.object({ berthUpdates: UpdateSource.optional() }).parse(packageJson)
  return berthUpdates
}

/** A list that the makers of this Berth signed. */
export interface SignedManifest {
  readonly manifest: UpdateManifest
  /** Key that signed it, to be kept as `Seen.key`. */
  readonly key: KeySeen
}

/**
 * Reads a list of updates. Threat model: the server of the list, and everybody on the way to it, may be hostile; only the holder of the
 * signing key is believed. So the signature is verified over the bytes before they are parsed.
 *
 * @param publicKey key that the package pins
 * @throws AppError `forbidden` if the list is damaged, or not signed by that key or the one that it handed over to
 */
export function readManifest(text: string, publicKey: string, seen: KeySeen | undefined): SignedManifest {
  const envelope = Envelope.safeParse(parseJson(text))
  if (!envelope.success) throw refuseList(because('updates_list_damaged'))
  const current = followHandovers(publicKey, envelope.data.handovers, seen)
  const bytes = openSigned(envelope.data, SIGNED_AS, current)
  if (bytes === undefined) throw refuseList(because('updates_list_unsigned'))
  const manifest = UpdateManifest.safeParse(parseJson(bytes.toString()))
  if (!manifest.success) throw refuseList(because('updates_list_newer'))
  return { manifest: manifest.data, key: { pinned: fingerprintOf(publicKey), current: fingerprintOf(current) } }
}

export interface Seen {
  /** Version that runs. */
  readonly version: string
  /** Highest serial of earlier lists; 0 if none was seen. */
  readonly serial: number
  /** Key of earlier lists; undefined if none was seen. */
  readonly key?: KeySeen | undefined
  readonly now: Date
}

/**
 * Whether a signed list has a newer version. An older version is never an update.
 *
 * @throws AppError `forbidden` for a list that has expired, or is older than one seen before
 */
export function isNewer(manifest: UpdateManifest, seen: Seen): boolean {
  if (manifest.serial < seen.serial) {
    throw new AppError('forbidden', because('updates_list_older'))
  }
  if (Date.parse(manifest.expiresAt) <= seen.now.getTime()) {
    throw new AppError('forbidden', because('updates_list_expired', { time: manifest.expiresAt }))
  }
  return compareVersions(manifest.version, seen.version) > 0
}

/** Positive if `a` is newer. For an unreleased version (`0.2.0-dev`) only the numbers count. */
export function compareVersions(a: string, b: string): number {
  const numbers = (version: string) => version.split('-')[0]?.split('.').map(Number) ?? []
  const [left, right] = [numbers(a), numbers(b)]
  for (const at of [0, 1, 2]) {
    const difference = (left[at] ?? 0) - (right[at] ?? 0)
    if (difference !== 0) return difference
  }
  return 0
}

function isSafe(text: string): boolean {
  const url = URL.parse(text)
  return url?.protocol === 'https:' || (url?.protocol === 'http:' && ['localhost', '127.0.0.1'].includes(url.hostname))
}
