import { type FileState } from './file-state.ts'

/** A file to create; its bytes are a part of the job's. */
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

/** A file that was read; its bytes are a part of the reply's. */
export interface FileRead {
  readonly state: FileState
  readonly offset: number
  readonly size: number
}

/** An entry by its path below a directory: names of directories, and its own. */
export interface PathBelow {
  readonly from: number
  readonly directories: readonly string[]
  readonly name: string
}

/** A file to create unless the name is taken. */
export interface FileToMake {
  /** Permission bits. */
  readonly mode: number
  /** Whether its owner becomes that of the top; only root can do that. */
  readonly givesAway: boolean
  /** Whether a file that is there is not opened instead. */
  readonly isOnly: boolean
}

/** A file that was opened. */
export interface FileOpened {
  readonly fd: number
  readonly state: FileState
  readonly isNew: boolean
}

/**
 * Work on many entries of one directory, or by many calls on one, done by a separate thread with synchronous calls. Directories are descriptors of this process.
 * Names are bytes as Latin-1 strings, which can be sent to the thread unchanged, and cost less there than buffers.
 */
export interface BatchJobs {
  /** Creates private files like `Directory.createMany`. @returns for each whether it was created, or `damaged` */
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
  /** Reads whole regular files. @returns undefined for one that must be read separately; fewer than requested once `most` bytes are read */
  readonly read: {
    readonly request: {
      readonly directory: number
      readonly top: number
      readonly names: readonly string[]
      /** Largest size in bytes of a file to read. */
      readonly largest: number
      readonly most: number
    }
    readonly reply: {
      readonly files: readonly (FileRead | undefined)[]
      readonly bytes: ArrayBuffer
    }
  }
  /** Continues a CRC-32 with these bytes, which are returned to the caller. */
  readonly crc: {
    readonly request: { readonly bytes: ArrayBuffer; readonly length: number; readonly before: number }
    readonly reply: { readonly crc: number; readonly bytes: ArrayBuffer }
  }
  /** Adds these bytes, which are returned to the caller, to the SHA-256 of this name. The first ones start it; `digest` ends it. */
  readonly hash: {
    readonly request: { readonly id: string; readonly bytes: ArrayBuffer; readonly length: number }
    readonly reply: { readonly bytes: ArrayBuffer }
  }
  /** Hexadecimal. The SHA-256 is then forgotten. */
  readonly digest: { readonly request: { readonly id: string }; readonly reply: string }
  /** States of entries. @returns undefined for one that must be checked separately */
  readonly states: {
    readonly request: {
      readonly directory: number
      readonly names: readonly string[]
    }
    readonly reply: readonly (FileState | undefined)[]
  }
  /** Looks at the entry of a path. @returns undefined for a path that must be checked separately */
  readonly stateAt: { readonly request: PathBelow; readonly reply: FileState | 'missing' | undefined }
  /**
   * Opens the regular file of a path. @param make how to create it if it is missing @returns its descriptor, which belongs to the caller;
   * undefined for a path that must be opened separately
   */
  readonly openAt: {
    readonly request: PathBelow & {
      readonly top: number
      readonly access: 'read' | 'write'
      readonly make: FileToMake | undefined
    }
    readonly reply: FileOpened | 'missing' | undefined
  }
}

export type BatchKind = keyof BatchJobs
