import { opendir } from 'node:fs/promises'
import { type StorageCalls } from './calls.ts'
import { type Descriptor } from './descriptor.ts'
import { isDraft } from './drafts.ts'
import { THE_DIRECTORY, toFileError } from './file-errors.ts'
import { nameOf } from './file-names.ts'
import { type FileKind, kindOf } from './file-state.ts'

/** An entry of a directory, as the directory describes it. */
export interface Entry {
  readonly name: string
  readonly kind: FileKind
}

/** Entries of a directory in the order of the file system, read on demand. Drafts are left out. */
export interface Listing extends AsyncDisposable {
  /** Reads the next few hundred entries; none at the end. @throws the AppErrors of `toFileError`, e.g. `storage_away` */
  next(): Promise<Entry[]>
}

const BATCH = 512

function asFileError(error: unknown): never {
  throw toFileError(error, THE_DIRECTORY)
}

export async function openListing(descriptor: Descriptor, calls: StorageCalls): Promise<Listing> {
  const options = { encoding: 'buffer', bufferSize: BATCH } as unknown as { encoding: 'utf8'; bufferSize: number }
  const directory = await calls
    .run(() => descriptor.use(({ fd }) => opendir(`/proc/self/fd/${fd}`, options)), {
      late: late => late.close().catch(() => undefined),
    })
    .catch(asFileError)
  let users = Promise.resolve<unknown>(undefined)
  let closing: Promise<void> | undefined

  async function readBatch(): Promise<Entry[]> {
    const entries: Entry[] = []
    while (entries.length < BATCH) {
      const found = await directory.read()
      if (!found) break
      const name = nameOf(found.name as unknown as Buffer)
      if (!isDraft(name)) entries.push({ name, kind: kindOf(found) })
    }
    return entries
  }

  return {
    next() {
      if (closing) throw new Error('a closed listing was read')
      const batch = calls.run(readBatch).catch(asFileError)
      users = batch.catch(() => undefined)
      return batch
    },
    async [Symbol.asyncDispose]() {
      closing ??= users.then(() => calls.close(() => directory.close())).catch(() => undefined)
      await closing
    },
  }
}
