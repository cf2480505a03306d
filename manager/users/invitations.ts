import {
  AppError,
  because,
  type Invitation,
  InvitationId,
  type InvitationSpec,
  messageOf,
  type NewInvitation,
  type SystemSettings,
} from '#manager/contract'
import { type Settings } from '../settings/settings.ts'
import { type DomainRow, findDomain } from '../store/identity/domains.ts'
import {
  deleteInvitation,
  insertInvitation,
  type InvitationRow,
  listInvitations,
} from '../store/identity/invitations.ts'
import { noSuchDomain } from '../store/missing.ts'
import { newUuid } from '../store/new-id.ts'
import { type Store } from '../store/open-store.ts'
import { isForeignKeyViolation } from '../store/violations.ts'
import { administers, type Caller, isSuperadmin } from './authorize.ts'
import { linkTo } from './links.ts'
import { requireStillSignedIn } from './still-authorized.ts'
import { hashToken, newToken } from './secrets.ts'

/**
 * Invitations to sign up, each for one person. An admin of a domain invites into it, a superadmin into any. An invitation works only while
 * its maker may invite: an administrator who has lost that right cannot return with their own invitation.
 */
export interface Invitations {
  list(
    caller: Caller,
    page: { limit: number; cursor?: string | undefined },
  ): Promise<{ items: Invitation[]; nextCursor: string | null }>
  /** @param origin address at which the admin uses the console, for the link. @throws AppError `forbidden`, `domain_not_found` */
  create(caller: Caller, spec: InvitationSpec, origin: string): Promise<NewInvitation>
  /** @throws AppError `invitation_not_found` (also if it was used) */
  revoke(caller: Caller, id: string): Promise<void>
}

export function createInvitations({ store, settings }: { store: Store; settings: Settings }): Invitations {
  const { db } = store
  const seen = (caller: Caller) => (isSuperadmin(caller) ? undefined : caller.domain)

  return {
    async list(caller, { limit, cursor }) {
      const before = cursor === undefined ? undefined : parseCursor(cursor)
      const rows = await listInvitations(db, { domain: seen(caller), limit: limit + 1, before })
      const items = rows.slice(0, limit).map(toInvitation)
      return { items, nextCursor: rows.length > limit ? (items.at(-1)?.id ?? null) : null }
    },

    async create(caller, { domain = caller.domain, note, days }, origin) {
      if (!administers(caller, domain)) {
        throw new AppError('forbidden', because('only_superadmin_invites'))
      }
      const known = await findDomain(db, domain)
      if (!known) throw noSuchDomain(domain)
      const token = newToken()
      const [id, tokenHash] = [newUuid(), hashToken(token)]
      const wanted = { id, tokenHash, domain, note, days, createdBy: caller.userId }
      const inserted = store.transaction(async trx => {
        await requireStillSignedIn(trx, caller)
        return insertInvitation(trx, wanted)
      })
      const row = await inserted.catch((error: unknown) => {
        throw isForeignKeyViolation(error) ? noSuchDomain(domain, { cause: error }) : error
      })
      const { publicUrl, allowSignUp } = await settings.read()
      const url = linkTo(publicUrl ?? origin, 'sign-up', { invitation: token })
      return { ...toInvitation(row), token, url, notices: obstacles({ allowSignUp, domain: known }) }
    },

    async revoke(caller, id) {
      if (await deleteInvitation(db, id, seen(caller))) return
      throw new AppError('invitation_not_found', because('invitation_used'))
    },
  }
}

/** Reasons why the link does not work yet. These are reported but not refused: an invitation may be created in advance. */
function obstacles({
  allowSignUp,
  domain,
}: {
  allowSignUp: SystemSettings['allowSignUp']
  domain: DomainRow
}): NewInvitation['notices'] {
  const closed = messageOf('sign_up_closed', because('invitation_while_closed'))
  const inactive = messageOf('domain_inactive', because('invitation_domain_inactive', { domain: domain.name }))
  return [...(allowSignUp === 'off' ? [closed] : []), ...(domain.active ? [] : [inactive])]
}

function toInvitation(row: InvitationRow): Invitation {
  return {
    id: row.id,
    domain: row.domain,
    note: row.note,
    createdAt: row.created_at.toISOString(),
    expiresAt: row.expires_at.toISOString(),
    createdBy: row.maker,
    status: statusOf(row),
    usedBy: row.used_by,
  }
}

function statusOf({ used_at, expired, entitled }: InvitationRow): Invitation['status'] {
  if (used_at !== null) return 'used'
  if (expired) return 'expired'
  return entitled ? 'open' : 'ended'
}

function parseCursor(cursor: string): string {
  const parsed = InvitationId.safeParse(cursor)
  if (!parsed.success) throw new AppError('bad_request', because('cursor_wrong'))
  return parsed.data
}
