import { type Session, type SessionStatus } from '#manager/contract'
import { type ListSort } from '../../ui/list-sort.ts'
import { shownStatus, statusText } from '../../data/sessions/session-text.ts'

export type SortKey = 'name' | 'status' | 'created' | 'owner' | 'group'
export type Sort = ListSort<SortKey>
export const NEWEST_FIRST: Sort = { key: 'created', descending: true }

/** Filters by status and text: every word must occur in the name, image, state, reason, owner, project, resource group, tags, note or id. Case does not matter. */
export function filterSessions(
  sessions: readonly Session[],
  { text, statuses, tag }: { text: string; statuses: readonly SessionStatus[]; tag: string },
) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean)
  if (words.length === 0 && statuses.length === 0 && tag === '') return sessions
  return sessions.filter(session => {
    if (statuses.length > 0 && !statuses.includes(shownStatus(session))) return false
    if (tag !== '' && !session.tags.includes(tag)) return false
    if (words.length === 0) return true
    const { label, reason } = statusText(session)
    const { name, image, ownerEmail, group, resourceGroup, tags, note, id } = session
    const hay = [name, image, label, reason, ownerEmail, group?.name ?? '', resourceGroup, ...tags, note, id]
      .join(' ')
      .toLowerCase()
    return words.every(word => hay.includes(word))
  })
}

/** Sort order of states: those that need attention come first. */
const RANK: Readonly<Record<SessionStatus, number>> = {
  ERROR: 0,
  PENDING: 1,
  SCHEDULED: 2,
  PREPARING: 3,
  PULLING: 4,
  TERMINATING: 5,
  RUNNING: 6,
  CANCELLED: 7,
  TERMINATED: 8,
}
const collator = new Intl.Collator(undefined, { numeric: true, sensitivity: 'base' })
const COMPARE: Readonly<Record<SortKey, (a: Session, b: Session) => number>> = {
  name: (a, b) => collator.compare(a.name, b.name),
  status: (a, b) => RANK[shownStatus(a)] - RANK[shownStatus(b)],
  created: (a, b) => (a.createdAt < b.createdAt ? -1 : a.createdAt > b.createdAt ? 1 : 0),
  owner: (a, b) => collator.compare(a.ownerEmail, b.ownerEmail),
  group: (a, b) => collator.compare(a.resourceGroup, b.resourceGroup),
}

/** Sorts sessions. On a tie the newer session comes first: ids are UUIDs of version 7, which sort by age. */
export function sortSessions(sessions: readonly Session[], { key, descending }: Sort): Session[] {
  const compare = COMPARE[key]
  const sign = descending ? -1 : 1
  return sessions.toSorted((a, b) => sign * compare(a, b) || (a.id < b.id ? 1 : -1))
}
