import { constants } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { defined } from '#base/defined'
import { type CallOptions, type StorageCalls } from './calls.ts'
import { Descriptor } from './descriptor.ts'
import { THE_DIRECTORY, toFileError } from './file-errors.ts'
import { bytesOf } from './file-names.ts'

const { O_CREAT, O_DIRECTORY, O_EXCL, O_NOFOLLOW, O_RDONLY, O_RDWR } = constants
/** Opens a file for its state only, without side effects on FIFOs and devices. Node has no constant for it. @see open(2) */
const O_PATH = 0o10_000_000
export const DIRECTORY = O_RDONLY | O_DIRECTORY | O_NOFOLLOW

/**
 * System calls on an open directory and its entries. An entry is named relative to the descriptor, as `/proc/self/fd/N/NAME`. All throw the
 * AppErrors of `toFileError`, and `path_invalid` for an invalid name.
 */
export class DirectoryCalls {
  readonly descriptor: Descriptor
  readonly calls: StorageCalls

  constructor(handle: FileHandle, calls: StorageCalls) {
    this.descriptor = new Descriptor(handle, calls)
    this.calls = calls
  }

  /** Runs a call on the descriptor of the directory itself. */
  own<T>(call: (handle: FileHandle) => Promise<T>, options: CallOptions<T> = {}): Promise<T> {
    return this.calls
      .run(() => this.descriptor.use(call), options)
      .catch((error: unknown) => {
        throw toFileError(error, THE_DIRECTORY)
      })
  }

  /** Runs a call with the path of an entry. */
  async at<T>(name: string, call: (path: Buffer) => Promise<T>, late?: (result: T) => unknown): Promise<T> {
    const bytes = bytesOf(name)
    try {
      return await this.calls.run(() => this.descriptor.use(handle => call(below(handle, bytes))), defined({ late }))
    } catch (error) {
      throw toFileError(error, name)
    }
  }

  async openDirectory(name: string): Promise<DirectoryCalls> {
    return new DirectoryCalls(await this.at(name, path => open(path, DIRECTORY), closeLate), this.calls)
  }

  /** Opens an entry of any kind, also a link, to read its state. */
  async openAny(name: string): Promise<Descriptor> {
    const handle = await this.at(name, path => open(path, O_PATH | O_NOFOLLOW), closeLate)
    return new Descriptor(handle, this.calls)
  }

  /** Creates a file that only the manager can access. The name must be free. */
  async createFile(name: string): Promise<Descriptor> {
    await this.calls.requireRoom?.(0)
    const flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW
    return new Descriptor(await this.at(name, path => open(path, flags, 0o600), closeLate), this.calls)
  }
}

export const below = ({ fd }: FileHandle, name: Buffer) => Buffer.concat([Buffer.from(`/proc/self/fd/${fd}/`), name])

export const closeLate = (handle: FileHandle) => handle.close().catch(() => undefined)
