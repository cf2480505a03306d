import { type ManagerId, SessionId } from '#manager/contract'

/** Names of all requests of this Berth at the engine begin with it. */
export const prefixOf = (managerId: ManagerId) => `berth-${managerId}-`

export const nameOf = (managerId: ManagerId, sessionId: SessionId, run: number) =>
  `${prefixOf(managerId)}${sessionId}-${run}`

/** The session for which a request of this Berth was made; undefined for a name of another form. */
export function sessionOf(managerId: ManagerId, name: string): SessionId | undefined {
  const [, id] = /^(.{36})-\d+$/.exec(name.slice(prefixOf(managerId).length)) ?? []
  const { data } = SessionId.safeParse(id)
  return data
}
