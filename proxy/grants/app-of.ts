import { App, AppError, because, type Grant } from '#manager/contract'

/**
 * The app that a grant opens, under the name that was asked for.
 *
 * Threat model: the name becomes part of the address that a browser opens, and a hostile server, or its page of apps, chooses it: as
 * `x.localhost:8888/?` it would lead to another program of this computer, without the question that links of texts cause.
 *
 * @throws AppError `unavailable` for a description or a name that no app has
 */
export function appOf(grant: Grant, name: string): App {
  const { success, data } = App.safeParse({ ...grant.app, name, path: '/' })
  // Images name any path; the origin of the app keeps it there (`http-origins/app-origin.ts`).
  if (success) return { ...data, path: grant.app.path }
  throw new AppError('unavailable', because('not_a_manager_there', { text: 'it describes no app' }))
}
