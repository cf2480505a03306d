import { type FileRead, type NewFile } from './batch-jobs.ts'
import { type DirectoryCalls } from './directory-calls.ts'
import { bytesOf } from './file-names.ts'
import { type FileState } from './file-state.ts'

/** A file that is created together with others. */
export interface ManyFile extends Pick<NewFile, 'sha256' | 'owner' | 'modifiedAt' | 'mode'> {
  readonly name: string
  readonly bytes: Uint8Array
}

/** A file that was read together with others. */
export interface ManyRead extends Pick<FileRead, 'state'> {
  readonly bytes: Uint8Array
}

/** Work on many entries of an open directory in one job (`StorageCalls.batch`). */
export interface ManyEntries {
  /**
   * Creates many files like `createPrivate`, with their bytes, owner, time and mode.
   *
   * @returns for each file whether it was created; if not, call `createPrivate` to get the error. `damaged`: its bytes have another hash
   */
  createMany(files: readonly ManyFile[]): Promise<readonly (boolean | 'damaged')[]>
  /**
   * Reads whole files from the beginning of a list.
   *
   * @param most stop after so many bytes
   * @returns at least one result; undefined for a file that is not regular, larger than `largest` or not readable (call `open` to get the
   *   error)
   */
  readMany(
    names: readonly string[],
    limits: { readonly largest: number; readonly most: number },
  ): Promise<(ManyRead | undefined)[]>
  /** States of many entries. @returns undefined for an entry whose state cannot be read (call `lstat` to get the error) */
  lstatMany(names: readonly string[]): Promise<readonly (FileState | undefined)[]>
}

export function createManyEntries({ descriptor, calls }: DirectoryCalls, top: DirectoryCalls): ManyEntries {
  return {
    async createMany(files) {
      const bytes = new Uint8Array(files.reduce((sum, file) => sum + file.bytes.length, 0))
      await calls.requireRoom?.(bytes.length)
      let offset = 0
      const described = files.map(({ name, bytes: own, ...file }): NewFile => {
        bytes.set(own, offset)
        offset += own.length
        return { ...file, name: rawName(name), offset: offset - own.length, size: own.length }
      })
      return calls.batch((thread, signal) =>
        descriptor.use(({ fd }) =>
          thread.run(
            'write',
            { directory: fd, files: described, bytes: bytes.buffer },
            { moved: [bytes.buffer], signal },
          ),
        ),
      )
    },

    async readMany(names, limits) {
      const raw = names.map(rawName)
      const { files, bytes } = await calls.batch((thread, signal) =>
        descriptor.use(here =>
          top.descriptor.use(owner =>
            thread.run('read', { directory: here.fd, top: owner.fd, names: raw, ...limits }, { signal }),
          ),
        ),
      )
      return files.map(file => file && { state: file.state, bytes: new Uint8Array(bytes, file.offset, file.size) })
    },

    async lstatMany(names) {
      const raw = names.map(rawName)
      return calls.batch((thread, signal) =>
        descriptor.use(({ fd }) => thread.run('states', { directory: fd, names: raw }, { signal })),
      )
    },
  }
}

/** @see BatchJobs */
export const rawName = (name: string) => bytesOf(name).toString('latin1')
