// @vitest-environment happy-dom
import { effectScope, ref } from 'vue'
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

/** A fetched text; the test answers the requests, in any order. */
function start(more: Partial<FetchedOptions<string, string | true>> = {}) {
  const events = testEvents()
  const { app } = withServices({}, events)
  const questions: Question[] = []
  const fetch = (key: unknown, signal: AbortSignal) => {
    const { promise, resolve, reject } = Promise.withResolvers<string>()
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
const settled = async (): Promise<void> => void (await vi.advanceTimersByTimeAsync(0))
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
  await settled()
  name.value = 'three'
  await settled()
  expect(shown()).toEqual([null, null, true])
  await at(questions, 2).answer('about three')
  await at(questions, 1).answer('about two')
  expect(shown()).toEqual(['about three', null, false])
  name.value = undefined
  await settled()
  expect(shown()).toEqual([null, null, false])
  expect(questions.map(({ key }) => key)).toEqual(['one', 'two', 'three'])
})

test('the value of another key is gone in the same moment, unless it is kept until the new answer', async () => {
  const name = ref('one')
  const forgetful = start({ key: () => name.value })
  const keeping = start({ key: () => name.value, keeps: true })
  await at(forgetful.questions, 0).answer('about one')
  await at(keeping.questions, 0).answer('about one')
  name.value = 'two'
  expect(forgetful.shown()).toEqual([null, null, true])
  expect(keeping.shown()).toEqual(['about one', null, true])
  await settled()
  await at(keeping.questions, 1).answer('about two')
  expect(keeping.shown()).toEqual(['about two', null, false])
})

test('a key that goes and comes back is asked for again, and equal content is no change', async () => {
  const name = ref('one')
  const count = ref(1)
  const { questions, shown } = start({ key: () => (count.value > 0 ? name.value : undefined) })
  await at(questions, 0).answer('first')
  count.value = 2
  await settled()
  expect(questions).toHaveLength(1)
  name.value = 'two'
  name.value = 'one'
  await settled()
  await at(questions, 1).answer('second')
  expect(questions).toHaveLength(2)
  expect(shown()).toEqual(['second', null, false])
})

test('a key that somebody types is asked for once it rests', async () => {
  const text = ref<string | undefined>()
  const { questions, shown } = start({ key: () => text.value, restMs: () => 250 })
  for (const typed of ['a', 'ad', 'ada']) {
    text.value = typed
    await vi.advanceTimersByTimeAsync(200)
  }
  expect(questions).toHaveLength(0)
  expect(shown()).toEqual([null, null, true])
  await vi.advanceTimersByTimeAsync(50)
  expect(questions.map(({ key }) => key)).toEqual(['ada'])
  text.value = 'adam'
  text.value = undefined
  await vi.advanceTimersByTimeAsync(1_000)
  await at(questions, 0).answer('late')
  expect(questions).toHaveLength(1)
  expect(shown()).toEqual([null, null, false])
})

test('figures without hints are asked for while somebody needs them', async () => {
  const isFollowed = ref(true)
  const { questions } = start({ everyMs: 2_000, while: () => isFollowed.value })
  await at(questions, 0).answer('first')
  await vi.advanceTimersByTimeAsync(2_500)
  expect(questions).toHaveLength(2)
  await at(questions, 1).answer('second')
  isFollowed.value = false
  await vi.advanceTimersByTimeAsync(60_000)
  expect(questions).toHaveLength(2)
})

test('a value that does not age by itself is not asked for again by a resync', async () => {
  const { events, questions } = start()
  await at(questions, 0).answer('first')
  events.resync()
  await vi.advanceTimersByTimeAsync(60_000)
  expect(questions).toHaveLength(1)
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

test('hints about other things of the topic ask for nothing', async () => {
  const { events, questions } = start({ topics: ['agent'], concerns: ({ id }) => id === 'a' })
  await at(questions, 0).answer('first')
  events.hint({ ...hint, id: 'b' })
  await vi.advanceTimersByTimeAsync(10_000)
  expect(questions).toHaveLength(1)
  events.hint(hint)
  await vi.advanceTimersByTimeAsync(10_000)
  expect(questions).toHaveLength(2)
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
  await vi.advanceTimersByTimeAsync(1_000)
  await at(questions, 1).answer('from after')
  expect(shown()).toEqual(['from after', null, false])
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
