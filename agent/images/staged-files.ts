import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { type FileHandle, mkdir, open, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { parseJson } from '#base/parse-json'
import { unlessFull } from '../unless-full.ts'

/** Files of one image that have arrived, kept until the engine has them all. They are named by their SHA-256, so nothing else can be there. */
export interface StagedFiles {
  readonly directory: string
  /** Bytes by digest (sha256:…). */
  list(): Promise<Map<string, number>>
  /** The names that givers had for these files. */
  names(): Promise<Map<string, string>>
  /**
   * Writes a file. It counts only when it is complete, and `isWanted` accepts its digest.
   *
   * @returns its digest; undefined if that is not wanted: nothing is kept then
   * @throws `disk_full`; the error of the source
   */
  add(name: string, source: AsyncIterable<Buffer>, isWanted: (digest: string) => boolean): Promise<string | undefined>
  read(digest: string): ReturnType<typeof createReadStream>
  /** @param most bytes; undefined if the file is larger or absent */
  text(digest: string, most: number): Promise<string | undefined>
  /** Removes the file that was arriving when the process was killed. */
  removePartial(): Promise<void>
  remove(): Promise<void>
}

const Names = z.record(z.string().max(200), z.string().max(100))
const NAMES_FILE = 'names.json'
const PARTIAL = 'partial'
const HEXADECIMAL = /^[0-9a-f]{64}$/

/** @param directory is made when the first file arrives; readable for its owner only */
export function openStagedFiles(directory: string): StagedFiles {
  const pathOf = (digest: string) => join(directory, digest.replace('sha256:', ''))

  async function names(): Promise<Map<string, string>> {
    const text = await readFile(join(directory, NAMES_FILE), 'utf8').catch(() => '')
    return new Map(Object.entries(Names.safeParse(parseJson(text)).data ?? {}))
  }

  async function write(file: FileHandle, source: AsyncIterable<Buffer>): Promise<string> {
    const hash = createHash('sha256')
    for await (const chunk of source) {
      hash.update(chunk)
      await file.writeFile(chunk)
    }
    return `sha256:${hash.digest('hex')}`
  }

  return {
    directory,
    async list() {
      const found = await readdir(directory).catch(() => [])
      const files = found.filter(name => HEXADECIMAL.test(name))
      const sizes = await Promise.all(
        files.map(async name => [`sha256:${name}`, (await stat(join(directory, name))).size] as const),
      )
      return new Map(sizes)
    },
    names,
    async add(name, source, isWanted) {
      const partial = join(directory, PARTIAL)
      try {
        await mkdir(directory, { recursive: true, mode: 0o700 })
        const file = await open(partial, 'w', 0o600)
        let digest: string
        try {
          digest = await write(file, source)
        } finally {
          await file.close()
        }
        if (!isWanted(digest)) return undefined
        await rename(partial, pathOf(digest))
        const known = Object.fromEntries([...(await names()), [name, digest]])
        await writeFile(join(directory, NAMES_FILE), JSON.stringify(known), { mode: 0o600 })
        return digest
      } catch (error) {
        throw unlessFull(error, directory)
      } finally {
        await rm(partial, { force: true })
      }
    },
    read: digest => createReadStream(pathOf(digest)),
    async text(digest, most) {
      const size = (await stat(pathOf(digest)).catch(() => undefined))?.size ?? Infinity
      return size <= most ? readFile(pathOf(digest), 'utf8') : undefined
    },
    removePartial: () => rm(join(directory, PARTIAL), { force: true }),
    remove: () => rm(directory, { recursive: true, force: true }),
  }
}
