import { type UploadId } from '#manager/contract'
import { type Directory } from '../storage/beneath.ts'
import { type OpenFile } from '../storage/open-file.ts'
import { type UploadRow } from '../store/storage/uploads.ts'
import { type WriteLease } from './write-leases.ts'
import { removePart, statePart } from './parts.ts'

/** An upload on which a request works, with its file open. */
export interface OpenPart {
  readonly row: UploadRow
  readonly file: OpenFile
  /** Directory of the file. */
  readonly directory: Directory
  readonly lease: WriteLease
  /** Bytes that have arrived. */
  readonly offset: number
}

/** Whether the file is already in the folder: the manager ended before it recorded that. */
export async function isPlaced(directory: Directory, id: UploadId): Promise<boolean> {
  const part = await statePart(directory, id)
  if (part && part.links > 1) await removePart(directory, id)
  return !part || part.links > 1
}

/** Bytes that have arrived. */
export async function offsetOf(directory: Directory, { id, size }: UploadRow): Promise<number> {
  return (await statePart(directory, id))?.size ?? size
}
