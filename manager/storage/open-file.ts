import { defined } from '#base/defined'
import { type Descriptor } from './descriptor.ts'
import { type StorageCalls } from './calls.ts'
import { toFileError } from './file-errors.ts'
import { type FileState, stateOf } from './file-state.ts'
import { type FileCalls } from './raw-file.ts'

/** An open regular file of a folder. */
export interface OpenFile extends AsyncDisposable {
  state(): Promise<FileState>
  /** @returns number of bytes read; 0 at the end of the file */
  read(into: Uint8Array, position: number): Promise<number>
  /** Reads adjacent parts with one call. @returns number of bytes read; fewer at the end of the file */
  readParts(into: readonly Uint8Array[], position: number): Promise<number>
  /** Writes all of the bytes. @throws AppError `disk_full`, `storage_away` */
  write(bytes: Uint8Array, position: number): Promise<void>
  /** Writes adjacent parts, with a single call if the system accepts all bytes. @throws as `write` */
  writeParts(parts: readonly Uint8Array[], position: number): Promise<void>
  truncate(size: number): Promise<void>
  setMode(mode: number): Promise<void>
  setOwner(owner: { uid: number; gid: number }): Promise<void>
  setTimes(accessed: Date, modified: Date): Promise<void>
  /** Waits until the data is on the disk. */
  sync(): Promise<void>
  /** Closes the file; network storages report delayed write errors here. Safe to repeat. */
  close(): Promise<void>
}

/** A slow disk may have to write all data from memory. */
const SYNC_MS = 120_000

/** Permissions that a user may give; never set-user-id, set-group-id or sticky. */
export const PERMISSIONS = 0o777

interface Opened {
  readonly descriptor: Descriptor<FileCalls>
  readonly calls: StorageCalls
  readonly name: string
}

export function createOpenFile({ descriptor, calls, name }: Opened): OpenFile {
  const run = <T>(call: (handle: FileCalls) => Promise<T>, answerMs?: number): Promise<T> =>
    calls
      .run(() => descriptor.use(call), defined({ answerMs }))
      .catch((error: unknown) => {
        throw toFileError(error, name)
      })

  const requireRoom = async (bytes: number) => calls.requireRoom?.(bytes)

  async function write(bytes: Uint8Array, position: number): Promise<void> {
    let done = 0
    while (done < bytes.byteLength) {
      const at = done
      done += await run(
        async handle => (await handle.write(bytes, at, bytes.byteLength - at, position + at)).bytesWritten,
      )
    }
  }

  return {
    state: async () => stateOf(await run(handle => handle.stat({ bigint: true }))),
    read: (into, position) => run(async handle => (await handle.read(into, 0, into.byteLength, position)).bytesRead),
    readParts: (into, position) => run(async handle => (await handle.readv(into, position)).bytesRead),
    async write(bytes, position) {
      await requireRoom(bytes.byteLength)
      await write(bytes, position)
    },
    async writeParts(parts, position) {
      await requireRoom(parts.reduce((sum, { byteLength }) => sum + byteLength, 0))
      let written =
        parts.length < 2 ? 0 : await run(async handle => (await handle.writev(parts, position)).bytesWritten)
      let at = position
      for (const part of parts) {
        const done = Math.min(written, part.byteLength)
        if (done < part.byteLength) await write(part.subarray(done), at + done)
        written -= done
        at += part.byteLength
      }
    },
    truncate: size => run(handle => handle.truncate(size)),
    setMode: mode => run(handle => handle.chmod(mode & PERMISSIONS)),
    setOwner: ({ uid, gid }) => run(handle => handle.chown(uid, gid)),
    setTimes: (accessed, modified) => run(handle => handle.utimes(accessed, modified)),
    sync: () => run(handle => handle.sync(), SYNC_MS),
    close: () =>
      descriptor.close().catch((error: unknown) => {
        throw toFileError(error, name)
      }),
    [Symbol.asyncDispose]: () => descriptor[Symbol.asyncDispose](),
  }
}
