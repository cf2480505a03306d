import { createHash } from 'node:crypto'
import { createReadStream, createWriteStream } from 'node:fs'
import { access, mkdir, readdir, rename, rm, symlink } from 'node:fs/promises'
import path from 'node:path'
import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'
import { AppError } from '#manager/contract'

/**
 * Programs of Berth on this computer in a package of the app: Node, PostgreSQL and the servers are one archive, a third of their size,
 * which is unpacked only when it is needed (ADR 44).
 *
 * Threat model: the archive lies beside the app and may have been replaced where the app's folder can be written. It is unpacked and run
 * only if it has the hash that app.asar names. The unpacked files belong to the user, as everything the app runs does.
 */
export interface PackedPrograms {
  /** The archive, a .tar.gz in the shape of a clone. */
  readonly archive: string
  /** SHA-256 (hex) of the archive. */
  readonly sha256: string
  /** Folder of this user for the unpacked programs, one folder in it for each version. */
  readonly folder: string
}

/**
 * Unpacks the programs unless this version is there already.
 *
 * @param note called with a line for people before the work begins
 * @returns the pinned Node and the arguments that run the CLI
 * @throws AppError `unavailable` if the archive is missing or damaged, or the folder cannot be written
 */
export async function unpackPrograms(
  { archive, sha256, folder }: PackedPrograms,
  note: (line: string) => void,
): Promise<[string, string]> {
  const programs = path.join(folder, versionOf(sha256))
  const command: [string, string] = [path.join(programs, 'node_modules/.bin/node'), path.join(programs, 'bin/berth')]
  if (await isThere(programs)) return command
  note('Unpacking Berth for this computer, once for this version …')
  const partial = path.join(folder, `.partial-${String(process.pid)}`)
  try {
    if ((await hashOf(archive)) !== sha256) throw new Error(`${archive} is not the archive that the app was made with`)
    await rm(partial, { recursive: true, force: true })
    await mkdir(partial, { recursive: true, mode: 0o755 })
    await unpack(archive, partial)
    await rename(partial, programs).catch(async (error: unknown) => {
      // Another app of this user has unpacked them in the meantime.
      if (!(await isThere(programs))) throw error
    })
  } catch (error) {
    const why = `The programs of Berth for this computer could not be unpacked into ${folder}: ${String(error)}`
    throw new AppError('unavailable', { why }, { cause: error })
  } finally {
    await rm(partial, { recursive: true, force: true })
  }
  return command
}

/**
 * Removes the programs of other versions. Call it while this app runs the services: the lock of the data directory ensures that no other
 * version runs them.
 */
export async function removeOtherPrograms({ sha256, folder }: PackedPrograms): Promise<void> {
  const others = (await readdir(folder)).filter(name => name !== versionOf(sha256) && !name.startsWith('.partial-'))
  for (const name of others) await rm(path.join(folder, name), { recursive: true, force: true })
}

const versionOf = (sha256: string): string => sha256.slice(0, 16)

async function unpack(archive: string, folder: string): Promise<void> {
  const { extract } = await import('tar-stream')
  const entries = extract()
  const read = pipeline(createReadStream(archive), createGunzip(), entries)
  const written = async () => {
    for await (const entry of entries) {
      const { name, type, mode, linkname } = entry.header
      const target = path.join(folder, name)
      if (type === 'file') {
        await pipeline(entry, createWriteStream(target, { mode }))
        continue
      }
      if (type === 'directory') await mkdir(target, { recursive: true, mode: 0o755 })
      else if (type === 'symlink' && typeof linkname === 'string') await symlink(linkname, target)
      else throw new Error(`an entry of an unexpected kind: ${name}`)
      entry.resume()
    }
  }
  await Promise.all([read, written()])
}

async function hashOf(file: string): Promise<string> {
  const hash = createHash('sha256')
  await pipeline(createReadStream(file), hash)
  return hash.digest('hex')
}

const isThere = (file: string) =>
  access(file).then(
    () => true,
    () => false,
  )
