import { z } from 'zod'
import { TextOf } from '../plain-text.ts'
import { FileConflict } from './files.ts'
import { Person } from './folders.ts'
import { FolderId } from '../ids.ts'

/**
 * Resumable uploads: tus 1.0.0 with the extensions creation, creation-with-upload, termination and expiration, plus our own route to finish
 * an upload with its hash.
 *
 * Keys of `Upload-Metadata` (values in Base64, as the protocol says): `path` of the new file, relative to the folder; `onConflict` (`fail`
 * if left out); `sha256` of the whole file, 64 hex digits; `modifiedAt`, ISO 8601; `executable`, `true` for a file that may be run, else
 * `false` (if left out: as in the replaced file); `ownerOnly`, `true` for a file that only its owner may access (if left out: as in the
 * replaced file; always so for private keys and files below `.ssh`); `finish`, `later` if the client itself finishes the upload, with a
 * hash that it knows only at the end. Other keys are ignored.
 *
 * @see https://tus.io/protocols/resumable-upload
 */
export const TUS_VERSION = '1.0.0'
export const TUS_EXTENSIONS = 'creation,creation-with-upload,termination,expiration'
/** Content type of the bytes of an upload. */
export const TUS_CONTENT = 'application/offset+octet-stream'
/** Header on the answer that finished an upload: the path of the file, percent-encoded. `rename` may have changed its name. */
export const UPLOADED_PATH_HEADER = 'berth-uploaded-path'

export const UploadId = z.uuid().brand<'UploadId'>()
export type UploadId = z.infer<typeof UploadId>

export const Sha256 = TextOf(64, /^[0-9a-f]{64}$/, 'must be 64 lower-case hex digits')

/** An upload that has not expired. */
export const Upload = z
  .object({
    id: UploadId,
    folderId: FolderId,
    path: z.string().describe('Of the file, relative to the folder; once finished, where it is.'),
    size: z.int().describe('Bytes of the whole file.'),
    offset: z.int().describe('Bytes that the server has.'),
    onConflict: FileConflict,
    finished: z.boolean().describe('Whether the file is in the folder.'),
    by: Person.nullable().describe('Who uploads, if that is somebody else; null for the own ones.'),
    createdAt: z.iso.datetime(),
    expiresAt: z.iso.datetime(),
  })
  .meta({ id: 'Upload' })
export type Upload = z.infer<typeof Upload>

/** Request to put an upload, of which all bytes have arrived, into the folder. */
export const UploadFinish = z
  .strictObject({
    sha256: Sha256.optional().describe('Of the whole file; refused if the bytes that arrived have another hash.'),
    onConflict: FileConflict.optional().describe('Instead of that of the upload, e.g. after a refusal.'),
  })
  .meta({ id: 'UploadFinish' })
export type UploadFinish = z.infer<typeof UploadFinish>
