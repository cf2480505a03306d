import {
  type AgentId,
  AppError,
  because,
  FINISHED_STATUSES,
  type GroupId,
  LIVE_STATUSES,
  readSort,
  SessionId,
  type SessionSort,
  SessionStatus,
  type UserId,
} from '#manager/contract'
import { type SessionFilter } from '../store/sessions/session-list.ts'
import { NEWEST_FIRST, type SessionSorting } from '../store/sessions/session-order.ts'
import { type Caller, type Visible, visibleTo } from '../users/authorize.ts'

export interface SessionQuery {
  readonly limit: number
  readonly cursor?: string | undefined
  readonly status?: string | undefined
  /** Comma-separated. */
  readonly ids?: string | undefined
  readonly name?: string | undefined
  readonly tag?: string | undefined
  readonly mine?: boolean | undefined
  readonly owner?: UserId | undefined
  readonly domain?: string | undefined
  readonly group?: GroupId | undefined
  readonly resourceGroup?: string | undefined
  readonly agent?: AgentId | undefined
  readonly accessKey?: string | undefined
  readonly search?: string | undefined
  readonly sort?: SessionSort | undefined
}

export interface SessionPage {
  readonly filter: SessionFilter
  readonly limit: number
  /** The last id of the previous page. */
  readonly after: SessionId | undefined
  readonly sorting: SessionSorting
}

/**
 * Turns the query of a list into a filter that admits only what the caller may see.
 * @throws AppError `bad_request` if the cursor is invalid
 */
export function pageOf(
  caller: Caller,
  { limit: asked, cursor, status, ids: named, name, tag, mine, owner, group, sort, ...rest }: SessionQuery,
): SessionPage {
  const after = cursor === undefined ? undefined : SessionId.safeParse(cursor)
  if (after && !after.success) throw new AppError('bad_request', because('cursor_wrong'))
  // A user may search by keypair only among their own sessions, so that members learn nothing about the keypairs of others.
  const own = mine || (rest.accessKey !== undefined && caller.role === 'user')
  const visible = own ? { ownerId: caller.userId } : withShared(caller, visibleTo(caller))
  const ids = named === undefined ? undefined : parseIds(named)
  const filter = {
    visible,
    ids,
    statuses: parseStatuses(status),
    failed: status === 'failed' ? true : undefined,
    name,
    tag,
    ownerId: owner,
    groupId: group,
    domain: rest.domain,
    resourceGroup: rest.resourceGroup,
    agentId: rest.agent,
    accessKey: rest.accessKey,
    search: rest.search,
  }
  // Sessions requested by id come on one page, whatever its usual size.
  return { filter, limit: Math.max(asked, ids?.length ?? 0), after: after?.data, sorting: sortingOf(sort) }
}

function sortingOf(sort: SessionSort | undefined): SessionSorting {
  return sort === undefined ? NEWEST_FIRST : readSort(sort)
}

/** Also the sessions that others share with the caller. */
function withShared({ userId }: Caller, visible: Visible | undefined): SessionFilter['visible'] {
  return visible && { ...visible, sharedWith: userId }
}

/** The schema of the route has checked the text. */
function parseStatuses(text: string | undefined): readonly SessionStatus[] | undefined {
  if (!text || text === 'failed') return undefined
  if (text === 'live') return LIVE_STATUSES
  if (text === 'finished') return FINISHED_STATUSES
  return text.split(',').map(status => SessionStatus.parse(status))
}

/** The schema of the route has checked the text. */
function parseIds(text: string): readonly SessionId[] {
  return text.split(',').map(id => SessionId.parse(id))
}
