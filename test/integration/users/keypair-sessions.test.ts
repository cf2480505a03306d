import { afterAll, beforeAll, expect, test } from 'vitest'
import { apiOf, signedApi } from '../../fixtures/manager.ts'
import { type SessionsCluster, startSessionsCluster } from '../../fixtures/sessions-cluster.ts'

let cluster: SessionsCluster
beforeAll(async () => {
  cluster = await startSessionsCluster()
})
afterAll(() => cluster[Symbol.asyncDispose]())

test('when a keypair ends, its person is told of the sessions that were launched with it, also by a sign-in', async () => {
  await cluster.join()
  const startsAt = new Date(Date.now() + 86_400_000).toISOString()
  const person = await cluster.addUser('robbed@localhost')
  const keypair = await person.createKeypair({ body: {} })
  const { accessKey, secretKey } = keypair
  const thief = signedApi(cluster.url, keypair)
  await cluster.launch({ name: 'own-one', startsAt }, person)
  const ended = await cluster.launch({ name: 'planted-before', startsAt }, thief)
  await thief.deleteSession({ params: { id: ended.id }, query: {} })
  const { token } = await apiOf(cluster.url).loginWithKeypair({ body: { accessKey, secretKey, kind: 'token' } })
  const later = await cluster.launch({ name: 'planted-later', startsAt }, apiOf(cluster.url, token ?? ''))
  await person.updateKeypair({ params: { accessKey }, body: { active: false } })
  const { items } = await person.listMessages()
  const told = items.filter(({ about }) => about === 'own_sessions_by_keypair')
  expect(told).toMatchObject([
    {
      detail: `${accessKey}: planted-later, planted-before`,
      sessions: [
        { id: later.id, name: 'planted-later' },
        { id: ended.id, name: 'planted-before' },
      ],
    },
  ])
})
