import { parseJson } from '#base/parse-json'
import { type Session, type AccountNewsKind } from '#manager/contract'
import { hasFailed } from '../../data/sessions/session-text.ts'

export type NoticeKind =
  | 'running'
  | 'ended'
  | 'failed'
  | 'ending'
  | 'invitation'
  | 'shared'
  | 'uploaded'
  | 'uploadFailed'
  | 'tunnelsLost'
  | 'tunnelsBack'
  | 'message'
  | 'backupFailed'
  | 'certificate'
  | 'gpuFault'
  | 'hostUpdate'
  | 'hostFault'
  | 'hostWell'
  | 'webhookFailing'
  | 'webhookOff'
  | 'webhookOwner'
  | `told_${AccountNewsKind}`

/** Something that happened while the page was open, for the list under the bell. */
export interface Notice {
  /** The same in every tab for the same event, so that it is recorded once. */
  readonly id: string
  readonly kind: NoticeKind
  /** Name of the session or folder, or the text of a message. */
  readonly name: string
  /** Sender of an invitation or a message, or owner of a shared session. */
  readonly person?: string
  /** Number of files or tunnels. */
  readonly count?: number
  readonly to: string
  /** Milliseconds since 1970. */
  readonly at: number
  readonly read: boolean
}

/** Last known state of a session, to detect changes. */
export interface Seen {
  readonly status: Session['status']
  readonly warnedAt: string | null
}
export const seenOf = (session: Warned): Seen => ({ status: session.status, warnedAt: warnedAtOf(session) })

type Warned = Pick<Session, 'status' | 'ends' | 'interruptAt'>
/** The last warning, as a time that differs between warnings; null before the first. */
export const warnedAtOf = ({ ends, interruptAt }: Warned) => interruptAt ?? ends?.warnedAt ?? null

/** Kind of the change of a session; undefined if there is nothing to report. A session that its owner cancelled is not news. */
export function noticeKind(before: Seen, session: Warned & Pick<Session, 'result' | 'reason'>): NoticeKind | undefined {
  const { status } = session
  if (status !== before.status) {
    if (status === 'RUNNING') return 'running'
    if (hasFailed(session)) return 'failed'
    if (status === 'TERMINATED' && session.reason.code !== 'user_terminated') return 'ended'
  }
  return status === 'RUNNING' && warnedAtOf(session) !== null && before.warnedAt === null ? 'ending' : undefined
}

const KINDS: readonly string[] = [
  'running',
  'ended',
  'failed',
  'ending',
  'invitation',
  'shared',
  'uploaded',
  'uploadFailed',
  'message',
  'backupFailed',
  'certificate',
  'gpuFault',
  'hostUpdate',
  'hostFault',
  'hostWell',
  'webhookFailing',
  'webhookOff',
  'webhookOwner',
  'tunnelsLost',
  'tunnelsBack',
] satisfies NoticeKind[]

/** Reads stored notices; those of another shape are dropped. Paths that lead out of the console are dropped too. */
export function readNotices(text: string | null): Notice[] {
  const value = parseJson(text ?? '[]')
  if (!Array.isArray(value)) return []
  return value.filter((item): item is Notice => {
    if (typeof item !== 'object' || item === null) return false
    const { id, kind, name, to, at, read } = item as Record<string, unknown>
    const texts = [id, kind, name, to].every(part => typeof part === 'string')
    return (
      texts &&
      // There are many kinds of account news, and the first page loads none of them.
      (KINDS.includes(kind as string) || (kind as string).startsWith('told_')) &&
      (to as string).startsWith('/') &&
      typeof at === 'number' &&
      typeof read === 'boolean'
    )
  })
}
