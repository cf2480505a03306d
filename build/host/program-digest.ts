import { createHash } from 'node:crypto'
import { createReadStream, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { treeOf } from '../packages/tree.ts'

/**
 * Digest of a program: SHA-256 over names, modes and contents of all its files, hexadecimal. It tells agents and managers whether they run
 * the same program. The digest of the archive cannot, because that also depends on the toolbox image of the computer that packs it.
 */
export async function programDigest(folder: string): Promise<string> {
  const all = createHash('sha256')
  for (const { path, type, executable, link } of treeOf(folder)) {
    const content = type === 'file' ? await fileDigest(join(folder, path)) : (link ?? '')
    all.update(`${JSON.stringify([path, type, executable, content])}\n`)
  }
  return all.digest('hex')
}

/** Version of the program whose files are in a folder. */
export function programVersion(folder: string): string {
  return (JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { version: string }).version
}

/** SHA-256 of a file, hexadecimal. */
export async function fileDigest(file: string): Promise<string> {
  const hash = createHash('sha256')
  await pipeline(createReadStream(file), hash)
  return hash.digest('hex')
}
