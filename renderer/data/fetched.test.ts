import { effectScope, nextTick, ref } from 'vue'
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { AppError } from '#manager/contract'
import { testEvents, withServices } from '../testing/services.ts'
import { useFetched, type FetchedOptions } from './fetched.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

interface Question {
  readonly key: unknown
  readonly signal: AbortSignal
  answer(value: string): Promise<void>
  fail(error: unknown): Promise<void>
}

/** A fetched text whose questions the test answers, in any order. */
function start(more: Partial<FetchedOptions<string, string | true>> = {}) {
  const events = testEvents()
  const { app } = withServices({}, events)
  const questions: Question[] = []
  const fetch = (key: unknown, signal: AbortSignal) => {
    const { promise, resolve, reject } = Promise.withResolvers<string>()
    const settled = async () => await vi.advanceTimersByTimeAsync(0)
    questions.push({
      key,
      signal,
      answer: value => (resolve(value), settled()),
      fail: error => (reject(error), settled()),
    })
    return promise
  }
  const scope = effectScope()
  const fetched = app.runWithContext(() => scope.run(() => useFetched<string, string | true>({ fetch, ...more })))
  if (!fetched) throw new Error('the scope has ended')
  onTestFinished(() => scope.stop())
  const shown = () => [fetched.value.value, fetched.error.value, fetched.loading.value]
  return { events, questions, scope, fetched, shown }
}
const at = (questions: readonly Question[], index: number): Question => {
  const question = questions[index]
  if (!question) throw new Error(`no question ${index}`)
  return question
}
const hint = { topic: 'agent', id: 'a', version: 1 } as const

test('the newest question wins, and an overtaken one is aborted', async () => {
  const { questions, fetched, shown } = start()
  const second = fetched.again()
  expect(at(questions, 0).signal.aborted).toBe(true)
  await at(questions, 1).answer('new')
  await at(questions, 0).answer('old')
  await second
  expect(shown()).toEqual(['new', null, false])
})

test('a failure of an overtaken question is not told', async () => {
  const { questions, fetched, shown } = start()
  void fetched.again()
  await at(questions, 0).fail(new AppError('internal'))
  expect(shown()).toEqual([null, null, true])
  await at(questions, 1).answer('new')
  expect(shown()).toEqual(['new', null, false])
})

test('another key forgets the value; an answer about the first one is dropped', async () => {
  const name = ref<string | undefined>('one')
  const { questions, shown } = start({ key: () => name.value })
  await at(questions, 0).answer('about one')
  name.value = 'two'
  await nextTick()
  name.value = 'three'
  await nextTick()
  expect(shown()).toEqual([null, null, true])
  await at(questions, 2).answer('about three')
  await at(questions, 1).answer('about two')
  expect(shown()).toEqual(['about three', null, false])
  name.value = undefined
  await nextTick()
  expect(shown()).toEqual([null, null, false])
  expect(questions.map(({ key }) => key)).toEqual(['one', 'two', 'three'])
})

test('many hints are one question, hints of other topics none, and a resync is one', async () => {
  const { events, questions } = start({ topics: ['agent'] })
  await at(questions, 0).answer('first')
  for (let count = 0; count < 20; count++) events.hint(hint)
  events.hint({ ...hint, topic: 'user' })
  await vi.advanceTimersByTimeAsync(1_000)
  expect(questions).toHaveLength(2)
  await at(questions, 1).answer('second')
  events.hint({ ...hint, topic: 'user' })
  await vi.advanceTimersByTimeAsync(10_000)
  expect(questions).toHaveLength(2)
  events.resync()
  await vi.advanceTimersByTimeAsync(10_000)
  expect(questions).toHaveLength(3)
})

test('a failure that may pass is tried again, another one is not; the value stays beside the error', async () => {
  const { questions, fetched, shown } = start()
  await at(questions, 0).answer('known')
  void fetched.again()
  const away = new AppError('unavailable')
  await at(questions, 1).fail(away)
  expect(shown()).toEqual(['known', away, false])
  await vi.advanceTimersByTimeAsync(5_000)
  const refused = new AppError('forbidden')
  await at(questions, 2).fail(refused)
  await vi.advanceTimersByTimeAsync(120_000)
  expect(questions).toHaveLength(3)
  expect(shown()).toEqual(['known', refused, false])
})

test('the answer of an action stays, also when an earlier question is answered after it', async () => {
  const { questions, fetched, shown } = start()
  fetched.put('of the action')
  await at(questions, 0).answer('from before')
  expect(shown()).toEqual(['of the action', null, false])
})

test('nothing is asked or shown after the end of the scope', async () => {
  const { events, questions, scope, fetched } = start({ topics: ['agent'], everyMs: 1_000 })
  events.hint(hint)
  scope.stop()
  await at(questions, 0).answer('late')
  events.hint(hint)
  events.resync()
  await vi.advanceTimersByTimeAsync(60_000)
  expect(questions).toHaveLength(1)
  expect(at(questions, 0).signal.aborted).toBe(true)
  expect(fetched.value.value).toBeNull()
})

test('an owner that asks first is not overtaken by hints', async () => {
  const { events, questions, fetched } = start({ topics: ['agent'], atOnce: false })
  events.hint(hint)
  events.resync()
  await vi.advanceTimersByTimeAsync(60_000)
  expect(questions).toHaveLength(0)
  void fetched.again()
  expect(questions).toHaveLength(1)
})
