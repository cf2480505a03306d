import { defined } from '#base/defined'
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { lstat, mkdir, readdir, rm } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { hasRawBytes } from '#base/byte-names'
import { parseJson } from '#base/parse-json'
import { AppError, inRequests, isAppError } from '#manager/contract'
import { chunksUpTo } from '#proxy/network'
import { isPartial, isSafeName, makeLocalDirectory } from './download.ts'
import { below, folderName, type LocalPath, NAMES_ARE_BYTES, shownPath } from './local-path.ts'
import { listRemote } from './remote-tree.ts'
import { sendTransfer } from './send.ts'
import { type SyncNode } from './sync-plan.ts'
import { HAS_EXECUTABLE_BIT, isExecutable, type UploadTarget } from './upload.ts'

/** A tree to compare with another. Paths are parts below its top. */
export interface SyncSide {
  /** Entries of a directory; none if it does not exist. */
  list(parts: readonly string[]): Promise<Map<string, SyncNode>>
  /** SHA-256 of files; null for one that cannot be read. */
  checksums(paths: readonly (readonly string[])[]): Promise<(string | null)[]>
  makeDirectory(parts: readonly string[]): Promise<void>
  delete(paths: readonly (readonly string[])[]): Promise<void>
}

export function localSide(top: string): SyncSide {
  const pathOf = (parts: readonly string[]) => parts.reduce<LocalPath>(below, top)
  return {
    async list(parts) {
      const directory = pathOf(parts)
      const names = await readdir(directory, { encoding: 'buffer' }).catch((error: unknown) => {
        if (codeOf(error) === 'ENOENT') return []
        const why = `${shownPath(directory)} cannot be read as a directory.`
        throw new AppError('bad_request', { why }, { cause: error })
      })
      const nodes = new Map<string, SyncNode>()
      for (const bytes of names) {
        const name = folderName(bytes)
        // An incomplete download of ours is continued by the next one.
        if (isPartial(name)) continue
        const state = await lstat(below(directory, name)).catch(() => undefined)
        if (!state) continue
        const kind = state.isFile() ? 'file' : state.isDirectory() ? 'directory' : 'other'
        nodes.set(name, {
          kind,
          size: state.size,
          modifiedMs: Math.floor(state.mtimeMs),
          ...(HAS_EXECUTABLE_BIT ? { executable: isExecutable(state.mode) } : {}),
        })
      }
      return nodes
    },
    checksums: paths => Promise.all(paths.map(parts => hashLocal(pathOf(parts)))),
    async makeDirectory(parts) {
      if (parts.length === 0) await mkdir(top, { recursive: true })
      else await makeLocalDirectory(top, parts)
    },
    async delete(paths) {
      // For a link, `rm` deletes the link itself.
      for (const parts of paths) await rm(pathOf(parts), { recursive: true, force: true })
    },
  }
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined
}

async function hashLocal(path: LocalPath): Promise<string | null> {
  const hash = createHash('sha256')
  try {
    await pipeline(createReadStream(path), hash)
    return hash.digest('hex')
  } catch {
    return null // sent again, which says why it cannot be read
  }
}

/** Whether a file of this computer can have a name of a folder. */
const isLocalName = (name: string) => NAMES_ARE_BYTES || !hasRawBytes(name)

export type RemoteDeps = Pick<UploadTarget, 'connection' | 'folderId' | 'signal'>

/** @param top path of a directory in the folder; `''` for the folder itself */
export function remoteSide({ connection, folderId, signal }: RemoteDeps, top: string): SyncSide {
  const { api } = connection
  const pathOf = (parts: readonly string[]) => [top, ...parts].filter(part => part !== '').join('/')
  return {
    async list(parts) {
      const nodes = new Map<string, SyncNode>()
      try {
        for await (const entry of listRemote({ api, folderId, signal }, pathOf(parts))) {
          const { name, target } = entry
          const isLinked = target?.kind === 'file'
          const { kind, size, modifiedAt, etag, executable, ownerOnly } = isLinked ? target : entry
          nodes.set(name, {
            // A name that this computer cannot have is left alone, and so is a link to a directory: its files are there by their own names.
            kind: kind === 'link' || !isSafeName(name) || !isLocalName(name) ? 'other' : kind,
            size,
            modifiedMs: Date.parse(modifiedAt),
            etag,
            executable,
            ...defined({ ownerOnly }),
            ...(isLinked ? { isLinked } : {}),
          })
        }
      } catch (error) {
        if (!isAppError(error) || error.code !== 'file_not_found') throw error
      }
      return nodes
    },
    async checksums(paths) {
      const found: (string | null)[] = []
      for (const some of inRequests(paths.map(pathOf))) {
        found.push(...(await remoteChecksums({ connection, folderId, signal }, some)))
      }
      return found
    },
    async makeDirectory(parts) {
      const path = pathOf(parts)
      if (path !== '') await api.makeDirectory({ params: { id: folderId }, body: { path, parents: true }, signal })
    },
    async delete(paths) {
      for (const some of inRequests(paths.map(pathOf))) {
        await api.deleteFiles({ params: { id: folderId }, body: { paths: [...some] }, signal })
      }
    },
  }
}

/** Yields a line for each path, in order; empty lines say that the server is at work. */
async function remoteChecksums(
  { connection, folderId, signal }: RemoteDeps,
  paths: readonly string[],
): Promise<(string | null)[]> {
  const reply = await sendTransfer(connection, {
    method: 'POST',
    path: `/api/v1/folders/${folderId}/checksums`,
    headers: { 'content-type': 'application/json' },
    body: Buffer.from(JSON.stringify({ paths })),
    signal,
  })
  const found: (string | null)[] = []
  const bounded = Readable.from(chunksUpTo(reply as AsyncIterable<Buffer>))
  for await (const line of createInterface({ input: bounded })) {
    if (line.trim() === '') continue
    const value = parseJson(line) as { readonly sha256?: string | null } | undefined
    found.push(value?.sha256 ?? null)
  }
  if (found.length === paths.length) return found
  throw new AppError('unavailable', { why: 'The connection was cut while files were compared. Run the command again.' })
}
