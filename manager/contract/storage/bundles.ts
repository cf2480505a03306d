import { z } from 'zod'
import { DateTime } from '../plain-text.ts'
import { FileConflict, FilePath, FilePathInside } from './files.ts'
import { Sha256 } from './uploads.ts'

/**
 * A bundle: many small files in one body, in either direction. A request for each file costs more than the file itself.
 *
 *     bundle = *( length header bytes )
 *     length   4 bytes, the length of the header, big-endian
 *     header   JSON in UTF-8: `BundleEntry` in uploads, `BundledFile` in downloads
 *     bytes    `size` bytes, as the header says
 */
export const BUNDLE_CONTENT = 'application/vnd.berth.bundle'
/** Largest number of entries of one bundle. */
export const MOST_BUNDLED = 1_000
/** Largest size in bytes of one file in a bundle; larger files have separate requests. */
export const MOST_BUNDLED_BYTES = 1024 * 1024
/** Largest size in bytes of all files of a bundle. */
export const MOST_BUNDLE_BYTES = 32 * 1024 * 1024
/** Largest size in bytes of a header: enough for the longest path, escaped. */
export const MOST_BUNDLE_HEADER_BYTES = 64 * 1024

/** Header of a file or directory that is uploaded. */
export const BundleEntry = z
  .strictObject({
    path: FilePathInside,
    kind: z
      .enum(['file', 'directory'])
      .default('file')
      .describe('A directory is made with those above it, and may exist already.'),
    size: z.int().min(0).max(MOST_BUNDLED_BYTES).default(0),
    sha256: Sha256.optional().describe('Of the bytes. Needed for a file.'),
    modifiedAt: DateTime().optional(),
    executable: z
      .boolean()
      .optional()
      .describe('Whether the file may be run; if left out, as the file that it replaces, else not.'),
    ownerOnly: z
      .boolean()
      .optional()
      .describe(
        'Whether nobody but its owner has any right to the file; if not, as the file that it replaces. Private keys and what is below .ssh are so anyway.',
      ),
    onConflict: FileConflict.default('fail'),
    again: z
      .boolean()
      .default(false)
      .describe(
        'The answer to an earlier bundle with this file was lost: a file there with the same bytes counts as uploaded.',
      ),
  })
  .refine(({ kind, sha256 }) => kind === 'directory' || sha256 !== undefined, {
    path: ['sha256'],
    message: 'is needed for a file',
  })
  .refine(({ kind, size }) => kind === 'file' || size === 0, { path: ['size'], message: 'is 0 for a directory' })
export type BundleEntry = z.infer<typeof BundleEntry>
/** The entry as a client writes it. */
export type BundleEntrySpec = z.input<typeof BundleEntry>

/** Error of one entry; the others are not affected. */
const EntryError = z.object({ code: z.string(), message: z.string(), data: z.record(z.string(), z.unknown()) })
export type EntryError = z.infer<typeof EntryError>

/** Results of an uploaded bundle, in the order of its entries. */
export const BundleResult = z
  .object({
    items: z.array(
      z.object({
        path: z.string().describe('Where the entry is now; where it was to go, if it failed.'),
        error: EntryError.nullable().describe('Null for an entry that is in the folder.'),
      }),
    ),
  })
  .meta({ id: 'BundleResult' })
export type BundleResult = z.infer<typeof BundleResult>

/** Request for a bundle of files, or for their checksums. */
export const BundleRequest = z
  .strictObject({
    paths: z
      .array(FilePath.refine(path => path !== '', 'must name a file'))
      .min(1)
      .max(MOST_BUNDLED),
  })
  .meta({ id: 'BundleRequest' })
export type BundleRequest = z.infer<typeof BundleRequest>

/** Header of a file that is downloaded. */
export type BundledFile =
  | { readonly path: string; readonly size: number; readonly modifiedAt: string; readonly error: null }
  | { readonly path: string; readonly size: 0; readonly error: EntryError }
