import { type SessionId } from '#manager/contract'

/** Addresses as plain text: a list that scrolls makes hundreds of links per second, and RouterLink resolves each one. */
export function detailHref(id: SessionId, tab?: 'logs'): string {
  return `#/sessions/${id}${tab ? `?tab=${tab}` : ''}`
}
