import { z } from 'zod'

/**
 * `GET /api/v1/events` (SSE). An event is a hint that something has a newer version; the client fetches what it shows. The SSE `id` is
 * `<epoch>.<sequence>`: with `Last-Event-ID` a stream resumes from the manager's ring buffer of events; if that is not possible, the first
 * event is `resync`: fetch everything shown again.
 */
export const TOPICS = [
  'announcement',
  'session',
  'agent',
  'files',
  'folder',
  'image',
  'message',
  'registry',
  'resources',
  'task',
  'user',
] as const
export const EventHint = z.object({
  topic: z.enum(TOPICS),
  id: z.string(),
  version: z.int(),
  path: z.string().optional().describe('With topic `files`: the directory of the folder whose entries have changed.'),
})
export type EventHint = z.infer<typeof EventHint>

/** SSE event names: `hint` (EventHint), `resync` ({}), `stats` (StatsEvent, only with `?watch=<session id>`), `ping`. */
export const StatsEvent = z.object({ sessionId: z.string(), stats: z.unknown() })
