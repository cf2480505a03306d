import { close } from 'node:fs'
import { AppError, because } from '#manager/contract'
import { type BatchJobs, type PathBelow } from './batch-jobs.ts'
import { Descriptor } from './descriptor.ts'
import { type DirectoryCalls } from './directory-calls.ts'
import { componentsOf } from './file-names.ts'
import { type FileState } from './file-state.ts'
import { rawName } from './many-entries.ts'
import { createOpenFile, type OpenFile } from './open-file.ts'
import { rawFile } from './raw-file.ts'

/** A file that was opened by its path. */
export interface OpenedAt {
  readonly file: OpenFile
  readonly state: FileState
  readonly isNew: boolean
}

/**
 * Calls on the entry of a path, in one job (`StorageCalls.path`) instead of one call for each directory on it. Links are not followed.
 * All methods return undefined for a path that must be taken step by step, e.g. to follow a link or to get the error.
 */
export interface PathEntries {
  /** The state of an entry; of a link itself. @throws AppError `file_not_found` if only the entry is missing */
  stateAt(path: string): Promise<FileState | undefined>
  /**
   * Opens a regular file. @param options `make`: creates a missing one, with these permission bits; `isOnly`: only a new one will do
   *
   * @throws AppError `file_not_found` if only the file is missing
   */
  openAt(
    path: string,
    options: {
      readonly access: 'read' | 'write'
      readonly make?: { readonly mode: number; readonly isOnly: boolean }
    },
  ): Promise<OpenedAt | undefined>
}

export function createPathEntries({ descriptor, calls }: DirectoryCalls, top: DirectoryCalls): PathEntries {
  /** @throws AppError `path_invalid` */
  function below(path: string): Pick<PathBelow, 'directories' | 'name'> | undefined {
    const names = componentsOf(path).map(rawName)
    const name = names.pop()
    return name === undefined ? undefined : { directories: names, name }
  }

  function missing(path: string): AppError {
    const name = path.slice(path.lastIndexOf('/') + 1)
    return new AppError('file_not_found', { name, ...because('file_missing', { name }) })
  }

  return {
    async stateAt(path) {
      const entry = below(path)
      if (!entry) return undefined
      const found = await calls.path((threads, signal) =>
        descriptor.use(({ fd }) => threads.run('stateAt', { from: fd, ...entry }, { signal })),
      )
      if (found === 'missing') throw missing(path)
      return found
    },

    async openAt(path, { access, make: asked }) {
      const entry = below(path)
      if (!entry) return undefined
      if (asked) await calls.requireRoom?.(0)
      const make = asked && { ...asked, givesAway: process.getuid?.() === 0 }
      const found = await calls.path(
        (threads, signal) =>
          descriptor.use(from =>
            top.descriptor.use(owner =>
              threads.run('openAt', { from: from.fd, top: owner.fd, ...entry, access, make }, { signal }),
            ),
          ),
        closeLate,
      )
      if (found === 'missing') throw missing(path)
      if (!found) return undefined
      const { fd, state, isNew } = found
      const name = path.slice(path.lastIndexOf('/') + 1)
      const file = createOpenFile({ descriptor: new Descriptor(rawFile(fd), calls), calls, name })
      return { file, state, isNew }
    },
  }
}

function closeLate(found: BatchJobs['openAt']['reply']): void {
  if (typeof found === 'object') close(found.fd, () => undefined)
}
