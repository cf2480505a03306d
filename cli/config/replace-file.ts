import { chmod, mkdir, rename, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'

/** Writes a file of the user only (0600 in a 0700 directory): readers see the old or the new content. */
export async function replaceFile(file: string, content: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 })
  const part = `${file}.${process.pid}`
  await writeFile(part, content, { mode: 0o600 })
  await chmod(part, 0o600)
  await rename(part, file)
}
