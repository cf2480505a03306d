import { randomBytes } from 'node:crypto'
import { AppError, because, type DownloadSpec, type DownloadTicket, type FolderId } from '#manager/contract'
import { countDownloads, findDownload, insertDownload, type ValidDownload } from '../store/storage/downloads.ts'
import { type Db } from '../store/schema.ts'
import { isForeignKeyViolation } from '../store/violations.ts'
import { type Caller } from '../users/authorize.ts'
import { hashToken } from '../users/secrets.ts'
import { requireFewParts } from './few-parts.ts'
import { nameOfPath } from './places.ts'
import { type Files } from './service.ts'

/** Lifetime of a ticket, so that an interrupted download can be continued with it. */
const LIVES_SECONDS = 4 * 3600
/** Largest number of tickets of one person. */
const MOST_TICKETS = 10_000

/**
 * Tickets with which browsers download files by a link: a link cannot carry the header that a sign-in of the page needs, and without a link
 * the page holds the whole file in memory.
 *
 * Threat model: the ticket is the only credential of a request, so it is a bearer secret in an address. It is random (32 bytes), stored as
 * a hash, left out of logs, and valid for the named files only, for four hours, and no longer than the sign-in or keypair that requested
 * it. The rights to the folder are checked at each request. The answer is an attachment with `no-store`, and sends no referrer.
 */
export interface DownloadTickets {
  /** @throws AppError `folder_not_found`, `forbidden`, `file_not_found`, `file_kind_refused`, `over_person_limit`, `not_signed_in` (ended meanwhile) */
  create(caller: Caller, id: FolderId, spec: DownloadSpec): Promise<DownloadTicket>
  /** @throws AppError `link_invalid` */
  find(ticket: string): Promise<ValidDownload>
}

export function createDownloadTickets({ db, files }: { db: Db; files: Pick<Files, 'get'> }): DownloadTickets {
  return {
    async create(caller, folderId, { paths }) {
      requireFewParts(paths)
      for (const path of paths) {
        const { kind, target } = await files.get(caller, folderId, path)
        if (kind === 'file' || kind === 'directory' || target) continue
        const name = nameOfPath(path)
        if (kind === 'link')
          throw new AppError('file_kind_refused', { path, ...because('link_leads_nowhere', { name }) })
        throw new AppError('file_kind_refused', { path, ...because('neither_file_nor_directory', { name: path }) })
      }
      // Concurrent requests may exceed the limit by their number, which is fine: the table only must not grow without a limit.
      if ((await countDownloads(db, caller.userId)) >= MOST_TICKETS) {
        throw new AppError('over_person_limit', {
          limit: MOST_TICKETS,
          ...because('downloads_at_most', { limit: MOST_TICKETS }),
        })
      }
      const ticket = randomBytes(32).toString('base64url')
      const expiresAt = await insertDownload(db, {
        ticketHash: hashToken(ticket),
        folderId,
        caller,
        paths,
        livesSeconds: LIVES_SECONDS,
      }).catch((error: unknown) => {
        if (isForeignKeyViolation(error, 'downloads_folder_id_fkey'))
          throw new AppError('folder_not_found', { folderId })
        throw isForeignKeyViolation(error)
          ? new AppError('not_signed_in', because('sign_in_ended'), { cause: error })
          : error
      })
      return { url: `/api/v1/downloads/${ticket}`, expiresAt: expiresAt.toISOString() }
    },

    async find(ticket) {
      const found = await findDownload(db, hashToken(ticket))
      if (found) return found
      throw new AppError('link_invalid', because('download_expired'))
    },
  }
}
