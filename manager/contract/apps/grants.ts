import { z } from 'zod'
import { TextOf, TextUpTo } from '../plain-text.ts'
import { SessionId } from '../ids.ts'
import { App } from '../sessions/sessions.ts'

/**
 * The header with an app's secret. The allow-list has one name: an agent chooses the value, and a header name of its choice could replace
 * one that frames or addresses a request (`host`, `transfer-encoding`). Values are one line of visible ASCII.
 */
export const InjectedHeader = z.object({
  header: TextOf(13, /^authorization$/i),
  value: TextUpTo(1024).regex(/^[!-~]([ -~]*[!-~])?$/),
})
export type InjectedHeader = z.infer<typeof InjectedHeader>

/** A short-lived right to open tunnels to one app of one session. See `tunnel/`. */
export const Grant = z.object({
  grant: z.string().describe('Opaque; sent as `x-berth-grant`.'),
  sessionId: SessionId,
  app: App,
  expiresAt: z.iso.datetime(),
  /**
   * Header that the local proxy adds to every HTTP request of this app, so that its secret never appears in a URL or a page.
   */
  inject: InjectedHeader.nullable(),
})
export type Grant = z.infer<typeof Grant>
