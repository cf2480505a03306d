import { type FileState } from './file-state.ts'

/** A file to make, with its bytes within those of the job. */
export interface NewFile {
  /** Bytes of the name, as Latin-1. */
  readonly name: string
  readonly offset: number
  readonly size: number
  /** Hexadecimal; other bytes are not written. */
  readonly sha256: string
  readonly owner: { readonly uid: number; readonly gid: number } | undefined
  readonly modifiedAt: Date | null
  /** Permission bits. */
  readonly mode: number
}

/** A file that was read, with its bytes within those of the reply. */
export interface FileRead {
  readonly state: FileState
  readonly offset: number
  readonly size: number
}

/**
 * Work on many entries of one directory, which a thread of its own does with synchronous calls. Directories are descriptors of this process,
 * names are bytes as Latin-1: text that survives the way to the thread, and costs less there than buffers.
 */
export interface BatchJobs {
  /** Makes private files as `Directory.createMany`. @returns for each whether it was made, or `damaged` */
  readonly write: {
    readonly request: {
      readonly directory: number
      readonly files: readonly NewFile[]
      readonly bytes: ArrayBuffer
    }
    readonly reply: readonly (boolean | 'damaged')[]
  }
  /** Moves files; `replace` says whether one may be replaced. @returns for each whether it was moved */
  readonly move: {
    readonly request: {
      readonly from: number
      readonly to: number
      readonly moves: readonly {
        readonly name: string
        readonly toName: string
        readonly replace: boolean
      }[]
    }
    readonly reply: readonly boolean[]
  }
  /** Reads regular files whole. @returns undefined for one that must be looked at by itself; fewer than asked for, if `most` bytes are read */
  readonly read: {
    readonly request: {
      readonly directory: number
      readonly top: number
      readonly names: readonly string[]
      /** Bytes of the largest file that is read. */
      readonly largest: number
      readonly most: number
    }
    readonly reply: {
      readonly files: readonly (FileRead | undefined)[]
      readonly bytes: ArrayBuffer
    }
  }
  /** CRC-32 of bytes after those before them, which the caller gets back. */
  readonly crc: {
    readonly request: { readonly bytes: ArrayBuffer; readonly length: number; readonly before: number }
    readonly reply: { readonly crc: number; readonly bytes: ArrayBuffer }
  }
  /** Adds bytes, which the caller gets back, to the SHA-256 of this name. The first ones begin it; `digest` ends it. */
  readonly hash: {
    readonly request: { readonly id: string; readonly bytes: ArrayBuffer; readonly length: number }
    readonly reply: { readonly bytes: ArrayBuffer }
  }
  /** Hexadecimal. Nothing is kept of the SHA-256. */
  readonly digest: { readonly request: { readonly id: string }; readonly reply: string }
  /** States of entries. @returns undefined for one that must be looked at by itself */
  readonly states: {
    readonly request: {
      readonly directory: number
      readonly names: readonly string[]
    }
    readonly reply: readonly (FileState | undefined)[]
  }
}

export type BatchKind = keyof BatchJobs
