import { createHash, createPrivateKey, type KeyObject, sign } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { readFile, stat } from 'node:fs/promises'
import { basename } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { parseArgs } from 'node:util'
import { SIGNED_AS } from '../../proxy/updates/manifest.ts'

/**
 * Signs the list of a new version's files, for the person who publishes it:
 *
 *     openssl genpkey -algorithm ed25519 -out updates.key          # once; kept off every computer that is on a network
 *     openssl pkey -in updates.key -pubout -outform DER | base64 -w0     # `publicKey` of `berthUpdates` in package.json
 *     npm run sign-update -- --key updates.key --version 0.2.0 --serial 7 dist/packages/* > updates.json
 *
 * The list is published beside the files. Its format is in `proxy/updates/manifest.ts`.
 */

/** The signed form of a list. */
export function signManifest(manifest: object, key: KeyObject): string {
  const bytes = Buffer.from(JSON.stringify(manifest))
  const signature = sign(null, Buffer.concat([Buffer.from(SIGNED_AS), bytes]), key)
  return JSON.stringify({ signed: bytes.toString('base64'), signature: signature.toString('base64') })
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

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      key: { type: 'string' },
      version: { type: 'string' },
      serial: { type: 'string' },
      days: { type: 'string', default: '60' },
    },
  })
  if (values.key === undefined || values.version === undefined || values.serial === undefined)
    throw new Error('--key, --version and --serial are needed')
  const described = await Promise.all(positionals.map(describeFile))
  const files = described.filter(file => file !== undefined)
  const expiresAt = new Date(Date.now() + Number(values.days) * 86_400_000).toISOString()
  const manifest = { version: values.version, serial: Number(values.serial), expiresAt, files }
  process.stdout.write(`${signManifest(manifest, createPrivateKey(await readFile(values.key)))}\n`)
}

if (import.meta.main) await main()
