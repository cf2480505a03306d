import { expect, test } from 'vitest'
import { createMemoryCredentials } from '../credentials/credential-store.ts'
import { type ProxyAnswer, type ProxyQuestion } from './proxy-question.ts'
import { createProxySignIns } from './proxy-sign-ins.ts'

const PROXY = 'http://proxy.example:3128'

function setUp(answer: ProxyAnswer | null, right = 'mira:right') {
  const store = createMemoryCredentials()
  const tried: string[] = []
  const questions: ProxyQuestion[] = []
  const signIns = createProxySignIns({
    store,
    ask(question) {
      questions.push(question)
      return Promise.resolve(answer)
    },
    onUnexpected: error => expect.unreachable(String(error)),
  })
  const tryOut = (signIn: string) => {
    tried.push(signIn)
    return Promise.resolve(signIn === right)
  }
  const want = (refused?: string) => signIns.signInFor({ proxy: PROXY, refused, tryOut })
  return { store, signIns, want, tried, questions }
}

test('the user is asked once for all connections that wait, and the sign-in is kept only if they want it', async () => {
  const { want, store, questions } = setUp({ signIn: 'mira:right', isKept: false })
  expect(await Promise.all([want(), want()])).toEqual(['mira:right', 'mira:right'])
  expect(questions).toHaveLength(1)
  expect(await store.get(`proxy ${PROXY}`)).toBeNull()
})

test('one that was kept is tried out, and used without a question', async () => {
  const { want, store, questions, tried } = setUp(null)
  await store.set(`proxy ${PROXY}`, 'mira:right')
  expect(await want()).toBe('mira:right')
  expect([tried, questions]).toEqual([['mira:right'], []])
})

test('one that was kept and is refused is forgotten, and the question says so', async () => {
  const { want, store, questions, tried } = setUp({ signIn: 'mira:right', isKept: true })
  await store.set(`proxy ${PROXY}`, 'mira:old')
  expect(await want()).toBe('mira:right')
  expect(questions).toMatchObject([{ proxy: PROXY, wasRefused: true }])
  expect(await store.get(`proxy ${PROXY}`)).toBe('mira:right')
  // The proxy refused it, so it is not sent again.
  await want('mira:right')
  expect(tried).toEqual(['mira:old'])
})

test('whoever cancels is asked again only when they want to connect', async () => {
  const { want, signIns, questions } = setUp(null)
  const waiting = want()
  expect(await signIns.answered()).toBe(false)
  expect([await waiting, await want()]).toEqual([null, null])
  expect(questions).toHaveLength(1)
  signIns.forgetCancelled()
  await want()
  expect(questions).toHaveLength(2)
})
