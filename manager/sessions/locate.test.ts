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
})

test('a location that was read before a change and arrives after it is not cached', async () => {
  const applied: ((change: Applied) => void)[] = []
  const answers: PromiseWithResolvers<SessionLocation>[] = []
  const read = () => {
    const answer = Promise.withResolvers<SessionLocation>()
    answers.push(answer)
    return answer.promise
  }
  const changes = { onApplied: (listener: (change: Applied) => void) => void applied.push(listener) }
  const locate = createLocator({ db: undefined as unknown as Db }, changes, read)
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
