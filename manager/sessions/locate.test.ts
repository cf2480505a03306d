import { expect, test } from 'vitest'
import { AgentId, KernelId, SessionId, UserId } from '#manager/contract'
import { newId } from '../store/new-id.ts'
import { type Db } from '../store/schema.ts'
import { type Applied } from './changes.ts'
import { createLocator, type SessionLocation } from './locate.ts'

const id = newId(SessionId)
const at = (agentId: AgentId): SessionLocation => ({
  agentId,
  kernelId: newId(KernelId),
  status: 'RUNNING',
  apps: [],
  ownerId: newId(UserId),
  domain: 'default',
  shares: null,
})

const nobody = { onChanged: () => undefined }

test('a location that was read before a change and arrives after it is not cached', async () => {
  const applied: ((change: Applied) => void)[] = []
  const answers: PromiseWithResolvers<SessionLocation>[] = []
  const read = () => {
    const answer = Promise.withResolvers<SessionLocation>()
    answers.push(answer)
    return answer.promise
  }
  const changes = { onApplied: (listener: (change: Applied) => void) => void applied.push(listener) }
  const locate = createLocator({ db: undefined as unknown as Db }, changes, nobody, read)
  const [older, newer] = [newId(AgentId), newId(AgentId)]

  const first = locate(id)
  for (const listener of applied) listener({ sessionId: id } as Applied)
  answers[0]?.resolve(at(older))
  expect((await first).agentId).toBe(older)
  const second = locate(id)
  answers[1]?.resolve(at(newer))
  expect((await second).agentId).toBe(newer)
  // The location is cached: no third read.
  expect((await locate(id)).agentId).toBe(newer)
  expect(answers).toHaveLength(2)
})

test('a location is read again when others get or lose the session, also one that is being read', async () => {
  const told: ((userId: undefined) => void)[] = []
  const answers: PromiseWithResolvers<SessionLocation>[] = []
  const read = () => {
    const answer = Promise.withResolvers<SessionLocation>()
    answers.push(answer)
    return answer.promise
  }
  const members = { onChanged: (listener: (userId: undefined) => void) => void told.push(listener) }
  const locate = createLocator({ db: undefined as unknown as Db }, { onApplied: () => undefined }, members, read)
  const agent = newId(AgentId)

  const first = locate(id)
  for (const listener of told) listener(undefined)
  answers[0]?.resolve(at(agent))
  await first
  const second = locate(id)
  answers[1]?.resolve(at(agent))
  await second
  for (const listener of told) listener(undefined)
  const third = locate(id)
  answers[2]?.resolve(at(agent))
  await third
  expect(answers).toHaveLength(3)
})
