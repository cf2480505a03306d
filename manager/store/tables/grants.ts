import { type Default, type Json, type MaybeTime, type Time } from './columns.ts'
import { type LinkEnd, type PublishedAppId, type SessionId, type UserId } from '#manager/contract'

/** Apps that are open to people without an account. */
export interface PublishedAppsTable {
  id: PublishedAppId
  name: string
  port: number | null
  session_id: SessionId
  app: string
  user_id: UserId
  password_hash: string | null
  addresses: Json<readonly string[]>
  created_at: Time
  expires_at: Time
  visits: Default<number>
  last_visit_at: MaybeTime
}

/** Links to apps that have ended; a trigger writes them. */
export interface EndedPublishedAppsTable {
  id: PublishedAppId
  name: string
  port: number | null
  why: LinkEnd
  ended_at: Time
}

/** Addresses of web apps for browsers of one person. */
export interface OwnAppsTable {
  id: string
  name: string
  port: number | null
  session_id: SessionId
  app: string
  user_id: UserId
  expires_at: Time
}

export interface OwnAppTicketsTable {
  ticket_hash: Buffer
  own_app: string
  /** The sign-in that requested the ticket. */
  login_id: string
  expires_at: Time
  /** Hash of the cookie of the sign-in, which identifies the browser; null without a cookie. */
  browser_hash: Buffer | null
}

/** Ports that were used by an app. */
export interface AppPortsTable {
  port: number
  /** The last user of the port; may be deleted. */
  user_id: UserId
  left_at: Time
  /** Whether others could create the pages of its app, or may have been able to. */
  of_other: Default<boolean>
  /** The session of its app; may be deleted. */
  session_id: SessionId | null
}

/** Ports of the address of apps at which a console does not listen. */
export interface ClosedAppPortsTable {
  /** Computer and port. */
  console: string
  port: number
  seen_at: Time
}

export interface GrantsTable {
  id: string
  grant_hash: Buffer
  user_id: UserId
  /** The sign-in, keypair or published app whose end also ends the grant. Exactly one is set. */
  login_id: string | null
  keypair: string | null
  published_app: PublishedAppId | null
  session_id: SessionId
  app: string
  created_at: Time
  expires_at: Time
}
