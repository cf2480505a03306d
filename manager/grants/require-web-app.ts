import { AppError, because, isWebApp, type TokenApp } from '#manager/contract'
import { findTunnelApp } from '../images/apps.ts'
import { requireEnterable } from '../sessions/require-session.ts'
import { type Db } from '../store/schema.ts'
import { type SessionRow } from '../store/sessions/sessions.ts'
import { type Caller } from '../users/authorize.ts'

/** @throws AppError `app_not_found`, `bad_request`: the app speaks no HTTP */
export function requireWeb(session: Pick<SessionRow, 'apps'>, name: string): void {
  const app = findTunnelApp(session, name)
  if (!app) throw new AppError('app_not_found', { app: name, ...because('app_unknown', { app: name }) })
  if (!isWebApp(app)) throw new AppError('bad_request', because('no_web_app', { app: name }))
}

/** Checks that the caller may open a web app. @throws AppError `session_not_found`, `forbidden`, those of `requireWeb` */
export async function requireWebApp(db: Db, caller: Caller, { sessionId, app }: TokenApp): Promise<void> {
  requireWeb(await requireEnterable(db, caller, sessionId, 'only_members_open_apps'), app)
}
