import { randomUUID } from 'node:crypto'
import { chmod, constants, copyFile, link, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'

/** `latin1` preserves every byte of a text that is not ours, whatever its encoding. */
export type TextEncoding = 'utf8' | 'latin1'

/** Writes to a temporary file and renames it: readers see the old text or the new one, never a part. */
export async function writeFileAtomically(
  path: string,
  text: string,
  mode = 0o600,
  encoding: TextEncoding = 'utf8',
): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  const temporary = `${path}.${randomUUID().slice(0, 8)}.tmp`
  try {
    await writeFile(temporary, text, { mode, flag: 'wx', encoding })
    await chmod(temporary, mode) // the umask may have taken bits away
    await rename(temporary, path)
  } catch (error) {
    await rm(temporary, { force: true })
    throw error
  }
}

/** The text of a file, or undefined if the file does not exist. */
export async function readIfThere(path: string, encoding: TextEncoding = 'utf8'): Promise<string | undefined> {
  try {
    return await readFile(path, encoding)
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw error
  }
}

/**
 * The text of a file that keeps what its first writer wrote: the given text, if nobody has written yet. Of several processes, the first
 * decides; the file is complete when it appears, where the file system has hard links.
 */
export async function decideOnce(path: string, text: string): Promise<string> {
  const known = await readIfThere(path)
  if (known !== undefined) return known
  const draft = `${path}.${randomUUID()}.tmp`
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  try {
    await writeFile(draft, text, { flag: 'wx', mode: 0o600 })
    await link(draft, path)
      .catch(() => copyFile(draft, path, constants.COPYFILE_EXCL))
      .catch(() => undefined)
  } finally {
    await rm(draft, { force: true })
  }
  return await readFile(path, 'utf8')
}
