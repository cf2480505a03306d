import { createReadStream, createWriteStream } from 'node:fs'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { type Pack, pack } from 'tar-stream'
import { defined } from '#base/defined'
import { treeOf } from './tree.ts'

export interface TarOptions {
  /** Path prefix of all entries, e.g. `berth-server-0.1.0`. */
  readonly prefix: string
  /** Time of all entries, in seconds. */
  readonly seconds: number
  /** Effort of gzip, 1 to 9; default 9. */
  readonly level?: number
}

/**
 * Writes a folder as a .tar.gz that depends only on names, modes and contents: sorted, owned by root, with a single time for all entries.
 */
export async function writeTarGz(folder: string, file: string, options: TarOptions): Promise<void> {
  const archive = pack()
  // gzip's header would hold a time and a system; Node writes neither.
  const written = pipeline(archive, createGzip({ level: options.level ?? 9 }), createWriteStream(file))
  await Promise.all([
    written,
    addFolder(archive, folder, options).then(() => {
      archive.finalize()
    }),
  ])
}

/** Appends a folder to an archive. */
export async function addFolder(archive: Pack, folder: string, { prefix, seconds }: TarOptions): Promise<void> {
  const owner = { uid: 0, gid: 0, uname: 'root', gname: 'root', mtime: new Date(seconds * 1000) }
  for (const { path, type, executable, size, link } of treeOf(folder)) {
    const header = { ...owner, name: prefix === '' ? path : `${prefix}/${path}`, mode: executable ? 0o755 : 0o644 }
    if (type === 'file') {
      const entry = archive.entry({ ...header, type, size })
      await pipeline(createReadStream(join(folder, path)), entry)
    } else {
      archive.entry({ ...header, type, ...defined({ linkname: link }) })
    }
  }
}
