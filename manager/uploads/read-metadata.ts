import { z } from 'zod'
import { AppError, FileConflict, Sha256 } from '#manager/contract'

/** The request in the header Upload-Metadata. */
export interface UploadSpec {
  readonly path: string
  readonly onConflict: FileConflict
  readonly sha256: string | undefined
  readonly modifiedAt: Date | undefined
  readonly executable: boolean | undefined
  readonly ownerOnly: boolean
  readonly finishLater: boolean
}

const NAMED = 'must name the new file'

const Metadata = z.object({
  path: z.string(NAMED).min(1, NAMED),
  onConflict: FileConflict.default('fail'),
  sha256: Sha256.optional(),
  modifiedAt: z.iso.datetime().optional(),
  executable: z.enum(['true', 'false']).optional(),
  ownerOnly: z.enum(['true', 'false']).optional(),
  finish: z.literal('later').optional(),
})

/**
 * Reads `path Zm9v,onConflict cmVwbGFjZQ==`. Clients not made for Berth send `filename`, which is used if `path` is missing. Unknown keys
 * are ignored: clients send more (`filetype`).
 *
 * @throws AppError `bad_request`
 */
export function readMetadata(header: string | undefined): UploadSpec {
  const pairs = (header ?? '')
    .split(',')
    .map(pair => pair.trim().split(' '))
    .map(([key = '', value = '']) => [key, Buffer.from(value, 'base64').toString('utf8')])
  const fields = Object.fromEntries(pairs) as Partial<Record<string, string>>
  const { success, data, error } = Metadata.safeParse({ path: fields.filename, ...fields })
  if (!success) {
    const [issue] = error.issues
    const why = `Upload-Metadata: ${issue?.path.join('.') ?? ''} ${issue?.message ?? 'is not valid'}`
    throw new AppError('bad_request', { why })
  }
  const { path, onConflict, sha256, modifiedAt, executable, ownerOnly, finish } = data
  return {
    path,
    onConflict,
    sha256,
    modifiedAt: modifiedAt === undefined ? undefined : new Date(modifiedAt),
    executable: executable === undefined ? undefined : executable === 'true',
    ownerOnly: ownerOnly === 'true',
    finishLater: finish === 'later',
  }
}

/** Reads a header with a number of bytes. @throws AppError `bad_request` */
export function readCount(name: string, value: string | string[] | undefined): number {
  const count = typeof value === 'string' && /^\d{1,16}$/.test(value) ? Number(value) : Number.NaN
  if (Number.isSafeInteger(count)) return count
  throw new AppError('bad_request', { why: `${name} must be a number of bytes.` })
}
