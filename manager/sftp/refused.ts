import { type ErrorCode, isAppError } from '#manager/contract'
import { type Reply, type StatusName } from './protocol.ts'

/** Error for a request that is answered with this status. */
export class Refused extends Error {
  override readonly name = 'Refused'
  readonly status: StatusName
  constructor(status: StatusName, message: string) {
    super(message)
    this.status = status
  }
}

const STATUS_OF: Partial<Record<ErrorCode, StatusName>> = {
  file_not_found: 'noSuchFile',
  folder_not_found: 'noSuchFile',
  forbidden: 'permissionDenied',
  group_inactive: 'permissionDenied',
}

/** The status for an error. @returns undefined for an error that none of our rules has thrown */
export function statusOf(error: unknown): Reply | undefined {
  if (error instanceof Refused) return { kind: 'status', status: error.status, message: error.message }
  if (!isAppError(error) || error.code === 'internal') return undefined
  const { why } = error.detail
  const message = typeof why === 'string' ? why : error.message
  return { kind: 'status', status: STATUS_OF[error.code] ?? 'failure', message }
}
