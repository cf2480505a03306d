import { expect, test } from 'vitest'
import { type Child, type ChildSpec, type startChild } from './child.ts'
import { supervise } from './supervisor.ts'

const spec: ChildSpec = { name: 'manager', script: 'x.ts', environment: {}, logFile: '/dev/null', readyWithinMs: 1000 }

/** Children that live until the test ends them. */
function nursery() {
  const children: { spec: ChildSpec; die: () => void; stopped: boolean }[] = []
  const start = (childSpec: ChildSpec): Promise<Child> => {
    const ended = Promise.withResolvers<{ code: number | null; signal: NodeJS.Signals | null }>()
    const entry = { spec: childSpec, die: () => ended.resolve({ code: null, signal: 'SIGKILL' }), stopped: false }
    children.push(entry)
    return Promise.resolve({
      pid: children.length,
      ready: { url: 'http://127.0.0.1:1234' },
      ended: ended.promise,
      ask: () => Promise.resolve(undefined),
      [Symbol.asyncDispose]: () => {
        entry.stopped = true
        ended.resolve({ code: 0, signal: null })
        return Promise.resolve()
      },
    })
  }
  return { children, start }
}

test('a process that dies is started again with its first specification', async () => {
  const { children, start } = nursery()
  await using supervised = await supervise(spec, { start, note: () => undefined, backoffMs: () => 0 })
  children[0]?.die()
  await expect.poll(() => supervised.current.pid).toBe(2)
  expect(children[1]?.spec).toEqual(spec)
})

test('the signal cuts the first start short, and is not for later ones', async () => {
  const { children, start } = nursery()
  const { signal } = new AbortController()
  const given: unknown[] = []
  const watched = (...args: Parameters<typeof startChild>) => {
    given.push(args[1])
    return start(args[0])
  }
  const deps = { start: watched, note: () => undefined, signal, backoffMs: () => 0 }
  await using supervised = await supervise(spec, deps)
  children[0]?.die()
  await expect.poll(() => supervised.current.pid).toBe(2)
  expect(given).toEqual([signal, undefined])
})

test('a failed start is repeated', async () => {
  const { children, start } = nursery()
  let failures = 2
  const flaky = (s: ChildSpec) => (children.length > 0 && failures-- > 0 ? Promise.reject(new Error('port')) : start(s))
  const notes: string[] = []
  await using supervised = await supervise(spec, {
    start: flaky,
    note: n => notes.push(n),
    backoffMs: () => 0,
  })
  children[0]?.die()
  await expect.poll(() => supervised.current.pid).toBe(2)
  expect(notes).toHaveLength(3)
})

test('disposing stops the process and does not start it again', async () => {
  const { children, start } = nursery()
  const supervised = await supervise(spec, { start, note: () => undefined, backoffMs: () => 0 })
  await supervised[Symbol.asyncDispose]()
  expect(children.map(child => child.stopped)).toEqual([true])
})
