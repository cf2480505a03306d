import { expect, test } from 'vitest'
import { AppError, type SessionId } from '#manager/contract'
import { type AgentRequests } from '../agent-link/connection.ts'
import { type Log } from '../log.ts'
import { type SessionChanges } from '../sessions/changes.ts'
import { type Store } from '../store/open-store.ts'
import { startGrants } from './grants.ts'

const SESSION = '01900000-0000-7000-8000-000000000001' as SessionId
const ROW = { id: 'g', user_id: 'u', login_id: 'l', session_id: SESSION, app: 'jupyter', expires_at: new Date(4e12) }

/** A database that answers each query with the next of these answers. */
function storeOf(answers: (() => Promise<unknown>)[]): Store {
  const query: unknown = new Proxy(
    {},
    { get: (_, name) => (name === 'executeTakeFirst' ? () => answers.shift()?.() : () => query) },
  )
  return { db: query, now: Date.now } as Store
}

function grantsOn(...answers: (() => Promise<unknown>)[]) {
  const changes = { onApplied: () => undefined } as unknown as SessionChanges
  return startGrants({ store: storeOf(answers), agents: {} as AgentRequests, changes, log: {} as Log })
}

test('a grant is read once and then cached for a while', async () => {
  await using grants = grantsOn(() => Promise.resolve(ROW))
  await grants.verify('secret', SESSION, 'jupyter')
  await expect(grants.verify('secret', SESSION, 'jupyter')).resolves.toMatchObject({ loginId: 'l' })
  await expect(grants.verify('secret', SESSION, 'terminal')).rejects.toThrow(AppError)
})

test('a grant that is read while its sign-in ends is not cached', async () => {
  const row = Promise.withResolvers<unknown>()
  await using grants = grantsOn(
    () => row.promise,
    () => Promise.resolve(undefined),
  )
  const first = grants.verify('secret', SESSION, 'jupyter')
  grants.forgetLogin('l')
  row.resolve(ROW)
  await first
  await expect(grants.verify('secret', SESSION, 'jupyter')).rejects.toMatchObject({ code: 'grant_invalid' })
})
