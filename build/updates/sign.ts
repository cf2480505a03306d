import { createHash, createPrivateKey, createPublicKey, type KeyObject, sign } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { readFile, stat, writeFile } from 'node:fs/promises'
import { basename } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { parseArgs } from 'node:util'
import { z } from 'zod'
import { followHandovers, HANDOVER_SIGNED_AS, SignedText } from '../../proxy/updates/keys.ts'
import { SIGNED_AS } from '../../proxy/updates/manifest.ts'

/**
 * Signs the list of a new version's files, for the person who publishes it:
 *
 *     openssl genpkey -algorithm ed25519 -out updates.key          # once; kept off every computer that is on a network
 *     openssl pkey -in updates.key -pubout -outform DER | base64 -w0     # `publicKey` of `berthUpdates` in package.json
 *     npm run sign-update -- --key updates.key --version 0.2.0 --serial 7 dist/packages/* > updates.json
 *
 * The list is published beside the files. Its format is in `proxy/updates/manifest.ts`.
 *
 * Another key takes over by a statement that the key before signs. The file with all statements goes into every list from then on:
 *
 *     npm run sign-update -- --key updates.key --handovers handovers.json --hand-over-to NEW_PUBLIC_KEY
 *     npm run sign-update -- --key new.key --handovers handovers.json --version … --serial … dist/packages/* > updates.json
 */

/** The signed form of a list, with the handovers that lead to its key, the oldest first. */
export function signManifest(manifest: object, key: KeyObject, handovers: readonly SignedText[] = []): string {
  return JSON.stringify({ ...signText(SIGNED_AS, manifest, key), handovers })
}

/** Statement of a key that another one signs lists from now on. @param publicKey base64 of its SPKI form */
export const signHandover = (publicKey: string, key: KeyObject): SignedText =>
  signText(HANDOVER_SIGNED_AS, { publicKey }, key)

/** Public half of a key: base64 of its SPKI form. */
export const publicHalf = (key: KeyObject): string =>
  createPublicKey(key).export({ type: 'spki', format: 'der' }).toString('base64')

function signText(prefix: string, content: object, key: KeyObject): SignedText {
  const bytes = Buffer.from(JSON.stringify(content))
  const signature = sign(null, Buffer.concat([Buffer.from(prefix), bytes]), key)
  return { signed: bytes.toString('base64'), signature: signature.toString('base64') }
}

/** Entry of the list for a file. @returns undefined for a file that is no package of the desktop app */
export async function describeFile(path: string): Promise<object | undefined> {
  const name = basename(path)
  const kind = /\.(deb|rpm|tar\.gz|AppImage|dmg|exe)$/.exec(name)?.[1]
  if (kind === undefined) return undefined
  const platform = kind === 'dmg' ? 'darwin' : kind === 'exe' ? 'win32' : 'linux'
  const arch = /arm64|aarch64/.test(name) ? 'arm64' : 'x64'
  const hash = createHash('sha512')
  await pipeline(createReadStream(path), hash)
  return { platform, arch, kind, name, sizeBytes: (await stat(path)).size, sha512: hash.digest('hex') }
}

/**
 * Adds the handover from a key to another to those made before.
 *
 * @throws Error if the key is not the one that the last handover names: nobody would believe it
 */
export function addHandover(handovers: readonly SignedText[], key: KeyObject, to: string): SignedText[] {
  assertCurrent(handovers, key)
  const added = [...handovers, signHandover(to, key)]
  followHandovers(publicHalf(key), added, undefined)
  return added
}

function assertCurrent(handovers: readonly SignedText[], key: KeyObject): void {
  const last = handovers.at(-1)
  if (!last) return
  const { publicKey } = JSON.parse(Buffer.from(last.signed, 'base64').toString()) as { publicKey: string }
  if (publicKey !== publicHalf(key)) throw new Error('the last handover is to another key than --key')
}

async function readHandovers(file: string | undefined, mayBeNew: boolean): Promise<SignedText[]> {
  if (file === undefined) return []
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    if (mayBeNew && error instanceof Error && 'code' in error && error.code === 'ENOENT') return '[]'
    throw error
  })
  return z.array(SignedText).parse(JSON.parse(text))
}

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      key: { type: 'string' },
      version: { type: 'string' },
      serial: { type: 'string' },
      days: { type: 'string', default: '60' },
      handovers: { type: 'string' },
      'hand-over-to': { type: 'string' },
    },
  })
  if (values.key === undefined) throw new Error('--key is needed')
  const key = createPrivateKey(await readFile(values.key))
  const to = values['hand-over-to']
  const handovers = await readHandovers(values.handovers, to !== undefined)
  if (to !== undefined) {
    if (values.handovers === undefined) throw new Error('--handovers is needed: the file that keeps the statements')
    await writeFile(values.handovers, `${JSON.stringify(addHandover(handovers, key, to), undefined, 2)}\n`)
    return
  }
  if (values.version === undefined || values.serial === undefined) throw new Error('--version and --serial are needed')
  assertCurrent(handovers, key)
  const described = await Promise.all(positionals.map(describeFile))
  const files = described.filter(file => file !== undefined)
  const expiresAt = new Date(Date.now() + Number(values.days) * 86_400_000).toISOString()
  const manifest = { version: values.version, serial: Number(values.serial), expiresAt, files }
  process.stdout.write(`${signManifest(manifest, key, handovers)}\n`)
}

if (import.meta.main) await main()
