import { expect, test } from 'vitest'
import { AppError, type SessionId, type UserId } from '#manager/contract'
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

/** Listeners for users who lose a right. */
let told: ((userId: UserId | undefined) => void)[] = []

function grantsOn(...answers: (() => Promise<unknown>)[]) {
  const changes = { onApplied: () => undefined } as unknown as SessionChanges
  const members = { onChanged: (listener: (userId: UserId | undefined) => void) => void told.push(listener) }
  return startGrants({ store: storeOf(answers), agents: {} as AgentRequests, changes, members, log: {} as Log })
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

test('a grant is looked up again when its user may have lost the session', async () => {
  told = []
  await using grants = grantsOn(
    () => Promise.resolve(ROW),
    () => Promise.resolve(ROW),
    () => Promise.resolve(undefined),
  )
  await grants.verify('secret', SESSION, 'jupyter')
  for (const tell of told) tell('somebody else' as UserId)
  await grants.verify('secret', SESSION, 'jupyter')
  for (const tell of told) tell('u' as UserId)
  await grants.verify('secret', SESSION, 'jupyter')
  for (const tell of told) tell(undefined)
  await expect(grants.verify('secret', SESSION, 'jupyter')).rejects.toMatchObject({ code: 'grant_invalid' })
})
