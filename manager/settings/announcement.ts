import { createHash } from 'node:crypto'
import { type Announcement, NO_ANNOUNCEMENT, type StoredSettings } from '#manager/contract'

type Settings = Pick<StoredSettings, 'announcement' | 'announcementLevel' | 'announcementFrom' | 'announcementUntil'>

/**
 * The announcement at a given time. Its text is hidden until its period begins. @param now milliseconds since 1970 @param dismissed id of
 * the announcement that the reader has dismissed
 */
export function announcementAt(settings: Settings, now: number, dismissed: string | null): Announcement {
  const { announcement: text, announcementLevel: level, announcementFrom: from, announcementUntil: until } = settings
  if (text === null || (until !== null && Date.parse(until) <= now)) return NO_ANNOUNCEMENT
  if (from !== null && Date.parse(from) > now) return { ...NO_ANNOUNCEMENT, changesAt: from }
  const id = createHash('sha256').update(`${level}\n${text}`).digest('hex').slice(0, 32)
  return { id, text, level, until, dismissed: dismissed === id, changesAt: until }
}
