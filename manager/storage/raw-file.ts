import {
  type BigIntStats,
  close,
  fchmod,
  fchown,
  fstat,
  fsync,
  ftruncate,
  futimes,
  read,
  readv,
  write,
  writev,
} from 'node:fs'
import { promisify } from 'node:util'

/** The calls on an open file that `OpenFile` needs: those of Node's `FileHandle`. */
export interface FileCalls {
  readonly fd: number
  stat(options: { readonly bigint: true }): Promise<BigIntStats>
  read(into: Uint8Array, offset: number, length: number, position: number): Promise<{ readonly bytesRead: number }>
  readv(into: readonly Uint8Array[], position: number): Promise<{ readonly bytesRead: number }>
  write(bytes: Uint8Array, offset: number, length: number, position: number): Promise<{ readonly bytesWritten: number }>
  writev(parts: readonly Uint8Array[], position: number): Promise<{ readonly bytesWritten: number }>
  truncate(size: number): Promise<void>
  chmod(mode: number): Promise<void>
  chown(uid: number, gid: number): Promise<void>
  utimes(accessed: Date, modified: Date): Promise<void>
  sync(): Promise<void>
  close(): Promise<void>
}

const calls = {
  ...{ close: promisify(close), fstat: promisify(fstat), ftruncate: promisify(ftruncate), fsync: promisify(fsync) },
  ...{ read: promisify(read), readv: promisify(readv), write: promisify(write), writev: promisify(writev) },
  ...{ fchmod: promisify(fchmod), fchown: promisify(fchown), futimes: promisify(futimes) },
}

/** The file of a descriptor that a thread has opened: Node makes a `FileHandle` only for files that it opens itself. */
export function rawFile(fd: number): FileCalls {
  return {
    fd,
    stat: options => calls.fstat(fd, options),
    read: (into, offset, length, position) => calls.read(fd, into, offset, length, position),
    readv: (into, position) => calls.readv(fd, into, position),
    write: (bytes, offset, length, position) => calls.write(fd, bytes, offset, length, position),
    writev: (parts, position) => calls.writev(fd, parts, position),
    truncate: size => calls.ftruncate(fd, size),
    chmod: mode => calls.fchmod(fd, mode),
    chown: (uid, gid) => calls.fchown(fd, uid, gid),
    utimes: (accessed, modified) => calls.futimes(fd, accessed, modified),
    sync: () => calls.fsync(fd),
    close: () => calls.close(fd),
  }
}
