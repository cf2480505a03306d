import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { extractFile, getRawHeader, listPackage } from '@electron/asar'
import { treeOf } from '../tree.ts'
import { FUSES, readFuses } from './fuses.ts'
import { librariesWithoutPackage } from './libraries.ts'

/** Name of the program of the packaged app. */
export const PROGRAM = 'berth-desktop'

/** Largest size of the installed app, in bytes. */
const BUDGET = 320e6

interface Entry {
  readonly files?: Readonly<Record<string, Entry>>
  readonly unpacked?: boolean
  readonly integrity?: { readonly algorithm: string; readonly hash: string }
}

/** Findings of the checks of a package of the app. */
export interface AppFacts {
  readonly fuses: Awaited<ReturnType<typeof readFuses>>
  /** SHA-256 (hex) of the header of app.asar, which contains the hashes of all its files; Windows and macOS check it. */
  readonly asarHash: string
  /** Installed size in bytes. */
  readonly size: number
}

/**
 * Checks an unpacked app: fuses in its program, hashes in its archive, the size of its files.
 *
 * @throws Error if a fuse is not as configured, a file of the archive does not have its hash, Electron could start another app than the
 *   archive, or the app is larger than its budget
 */
export async function checkApp(folder: string): Promise<AppFacts> {
  const fuses = await readFuses(join(folder, PROGRAM))
  for (const [name, state] of Object.entries(fuses))
    if (state !== FUSES[name as keyof typeof FUSES]) throw new Error(`the fuse ${name} is ${state ? 'on' : 'off'}`)
  // Electron 16 has six; newer versions have more.
  if (Object.keys(fuses).length < 6) throw new Error('the program has no fuses')
  const missing = librariesWithoutPackage(join(folder, PROGRAM))
  // This is not certainly a fault: a newer Electron may mention libraries that it does not need.
  if (missing.length > 0)
    process.stderr.write(
      `WARNING: no dependency of the packages is known to bring ${missing.join(', ')} (libraries.ts)\n`,
    )
  const resources = join(folder, 'resources')
  for (const name of ['app', 'default_app.asar'])
    if (existsSync(join(resources, name))) throw new Error(`resources/${name} is a second app`)
  const asarHash = checkArchive(join(resources, 'app.asar'))
  const size = treeOf(folder).reduce((sum, entry) => sum + entry.size, 0)
  if (size > BUDGET)
    throw new Error(`the app takes ${(size / 1e6).toFixed(0)} MB, more than its budget of ${BUDGET / 1e6} MB`)
  return { fuses, asarHash, size }
}

function checkArchive(archive: string): string {
  const { header, headerString } = getRawHeader(archive)
  const root: Entry = header
  for (const path of listPackage(archive, { isPack: false })) {
    let entry: Entry | undefined = root
    for (const name of path.split('/').filter(Boolean)) entry = entry?.files?.[name]
    if (entry === undefined || entry.files !== undefined || entry.unpacked) continue
    const { algorithm, hash } = entry.integrity ?? {}
    const found = createHash('sha256')
      .update(extractFile(archive, path.slice(1)))
      .digest('hex')
    if (algorithm !== 'SHA256' || hash !== found) throw new Error(`${path} of app.asar does not have its hash`)
  }
  return createHash('sha256').update(headerString).digest('hex')
}
