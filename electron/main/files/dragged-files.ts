import { randomUUID } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { mkdir, rm } from 'node:fs/promises'
import path from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { type ReadableStream } from 'node:stream/web'
import { type NativeImage } from 'electron'
import { parseJson } from '#base/parse-json'
import { AppError, because, fileContentAddress, fromProblem, isProblem, shownFileName } from '#manager/contract'
import { type DraggedOut, MOST_DRAGGED_BYTES } from '#proxy/contract'
import { knownFailure } from '#proxy/certificates'
import { type Fetch, replyOf } from '#proxy/network'
import { type Account } from '../console/account.ts'
import { type InvokeEvent } from '../electron-slice.ts'

export interface DraggedFilesDeps {
  readonly account: () => Promise<Account>
  readonly fetch: Fetch
  /** Folder of the copies; created when it is needed. */
  readonly folder: string
  /** The picture at the pointer. */
  readonly icon: NativeImage
  /** Largest number of bytes of one drag. */
  readonly mostBytes?: number
}

/** Copies of files of folders on this computer: the system can only drag files that exist, not files that are still being fetched. */
export interface DraggedFiles {
  /** @returns id for `start` @throws `body_too_large`, `unavailable`, and the manager's errors about a file */
  fetch(files: DraggedOut): Promise<string>
  /** @returns as in HostApi @throws `not_found` */
  start(page: Pick<InvokeEvent['sender'], 'startDrag'>, id: string): boolean
  /** Aborts fetches in flight, and removes all copies. */
  forget(): Promise<void>
}

/** Drags whose copies stay: the program that files were dropped on may still be reading them. */
const MOST_KEPT = 3

export function createDraggedFiles(deps: DraggedFilesDeps): DraggedFiles {
  const kept = new Map<string, readonly string[]>()
  let giveUp = new AbortController()

  async function fetchInto(target: string, { folderId, paths }: DraggedOut, signal: AbortSignal): Promise<string[]> {
    await mkdir(target, { recursive: true, mode: 0o700 })
    const names = namesHere(paths, process.platform)
    const limit = deps.mostBytes ?? MOST_DRAGGED_BYTES
    let left = limit
    const count = async function* (chunks: AsyncIterable<Uint8Array>) {
      for await (const chunk of chunks) {
        left -= chunk.length
        if (left < 0) throw new AppError('body_too_large', { limit })
        yield chunk
      }
    }
    const files: string[] = []
    for (const [at, name] of names.entries()) {
      const body = await bodyOf(deps, fileContentAddress(folderId, paths[at] ?? '', true), signal)
      const file = path.join(target, name)
      await pipeline(body, count, createWriteStream(file, { flags: 'wx', mode: 0o600 }), { signal })
      files.push(file)
    }
    return files
  }

  return {
    async fetch(files) {
      const { signal } = giveUp
      const id = randomUUID()
      const target = path.join(deps.folder, id)
      try {
        kept.set(id, await fetchInto(target, files, signal))
      } catch (error) {
        await rm(target, { recursive: true, force: true })
        throw signal.aborted ? new AppError('not_signed_in', {}, { cause: error }) : error
      }
      for (const old of [...kept.keys()].slice(0, -MOST_KEPT)) {
        kept.delete(old)
        // On Windows a file that a program still reads cannot be removed; the end of the app removes it.
        await rm(path.join(deps.folder, old), { recursive: true, force: true }).catch(() => undefined)
      }
      return id
    },
    start(page, id) {
      const files = kept.get(id)
      const [file] = files ?? []
      if (!files || file === undefined) throw new AppError('not_found')
      page.startDrag({ file, files: [...files], icon: deps.icon })
      return process.platform !== 'darwin'
    },
    async forget() {
      giveUp.abort()
      giveUp = new AbortController()
      kept.clear()
      await rm(deps.folder, { recursive: true, force: true })
    },
  }
}

async function bodyOf({ account, fetch }: DraggedFilesDeps, address: string, signal: AbortSignal): Promise<Readable> {
  const { endpoint, headers } = await account()
  const init = { headers: await headers(), redirect: 'manual', signal } as const
  const answer = await fetch(endpoint + address, init).catch((error: unknown) => {
    throw new AppError('unavailable', knownFailure(error) ?? because('manager_away'), { cause: error })
  })
  if (answer.ok && answer.body) return Readable.fromWeb(answer.body as ReadableStream)
  const problem: unknown = parseJson(await replyOf(answer).text())
  throw isProblem(problem) ? fromProblem(problem) : new AppError('unavailable', because('manager_away'))
}

/** Names for copies of these files in one folder: characters that the system does not allow are replaced, and names are unique. */
export function namesHere(paths: readonly string[], platform: NodeJS.Platform): string[] {
  const taken = new Set<string>()
  return paths.map(one => {
    let name = shownFileName(one.split('/').at(-1) ?? '')
    if (platform === 'win32') {
      name = name.replace(/[<>:"\\|?*]/g, '_').replace(/[. ]$/, '_')
      // Names of devices, with any extension.
      if (/^(con|prn|aux|nul|com\d|lpt\d)(\.|$)/i.test(name)) name = `_${name}`
    }
    if (platform === 'darwin') name = name.replaceAll(':', '_')
    // Windows and macOS do not tell letter cases apart.
    while (taken.has(name.toLowerCase())) name = `_${name}`
    taken.add(name.toLowerCase())
    return name
  })
}
