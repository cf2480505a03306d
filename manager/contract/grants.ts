import { z } from 'zod'
import { SessionId } from './ids.ts'
import { App } from './sessions.ts'

/** A short-lived right to open tunnels to one app of one session. See `tunnel/`. */
export const Grant = z.object({
  grant: z.string().describe('Opaque; sent as `x-berth-grant`.'),
  sessionId: SessionId,
  app: App,
  expiresAt: z.iso.datetime(),
  /**
   * Header that the local proxy adds to every HTTP request of this app, so that its secret never meets a URL or a page.
   */
  inject: z.object({ header: z.string(), value: z.string() }).nullable(),
})
export type Grant = z.infer<typeof Grant>
