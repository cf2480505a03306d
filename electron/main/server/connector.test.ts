import { expect, test, vi } from 'vitest'
import { type Connection } from './connection.ts'
import { createConnector } from './connector.ts'

const aConnection = (name: string) => ({ endpoint: { kind: 'remote', url: name } }) as unknown as Connection

/** Attempts that the test ends one by one. */
function setUp() {
  const attempts: PromiseWithResolvers<Connection>[] = []
  const onFailure = vi.fn()
  const open = () => {
    const attempt = Promise.withResolvers<Connection>()
    attempts.push(attempt)
    return attempt.promise
  }
  return { attempts, onFailure, connector: createConnector(open, onFailure, 0) }
}

test('concurrent requests share one attempt', async () => {
  const { attempts, connector } = setUp()
  const asked = [connector.current(), connector.current()]
  attempts[0]?.resolve(aConnection('a'))
  expect(await Promise.all(asked)).toEqual([aConnection('a'), aConnection('a')])
  expect(attempts).toHaveLength(1)
  expect(connector.known).toEqual(aConnection('a'))
})

test('a failure is reported, and the next request tries again', async () => {
  const { attempts, connector, onFailure } = setUp()
  const first = connector.current()
  attempts[0]?.reject(new Error('no network'))
  await expect(first).rejects.toThrow('no network')
  expect(onFailure).toHaveBeenCalledOnce()
  expect(await connector.settled()).toBeUndefined()
  const attemptsNow = () => {
    connector.current().catch(() => undefined)
    return attempts
  }
  await expect.poll(attemptsNow).toHaveLength(2)
  attempts[1]?.resolve(aConnection('b'))
  expect(await connector.current()).toEqual(aConnection('b'))
})

test('reading the current connection does not wait for an attempt in flight', () => {
  const { connector } = setUp()
  void connector.current()
  expect(connector.known).toBeUndefined()
})

test('a replacement is used from then on', async () => {
  const { attempts, connector } = setUp()
  const first = connector.current()
  attempts[0]?.reject(new Error('wrong address'))
  await expect(first).rejects.toThrow()
  connector.replace(aConnection('right'))
  expect(await connector.current()).toEqual(aConnection('right'))
})

test('an attempt that succeeds after its replacement is closed', async () => {
  const { attempts, connector } = setUp()
  void connector.current()
  connector.replace(aConnection('chosen'))
  const ended = vi.fn()
  attempts[0]?.resolve({ ...aConnection('late'), [Symbol.asyncDispose]: () => Promise.resolve(ended()) })
  await expect.poll(() => ended).toHaveBeenCalledOnce()
  expect(connector.known).toEqual(aConnection('chosen'))
})
