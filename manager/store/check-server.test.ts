import type pg from 'pg'
import { describe, expect, test } from 'vitest'
import { requireOwnSessions } from './check-server.ts'

/** Connections of a pooler, which gives each statement a session of its choice. A real pooler is in test/integration/operation/database-pooler.test.ts. */
function clientsWith(sessionOf: (client: number, turn: number) => number): typeof pg.Client {
  let clients = 0
  return class {
    readonly #number = clients++
    #turn = 0
    on() {
      return this
    }
    connect() {
      return Promise.resolve(this)
    }
    query() {
      return Promise.resolve({ rows: [{ pid: sessionOf(this.#number, this.#turn++) }] })
    }
    end() {
      return Promise.resolve()
    }
  } as unknown as typeof pg.Client
}

describe('two connections', () => {
  test('with a session each are what Berth needs', async () => {
    await requireOwnSessions({ Client: clientsWith(client => 100 + client) })
  })

  test.each([
    ['share one session', () => 100],
    ['take turns at two sessions', (client: number, turn: number) => 100 + ((client + turn) % 2)],
    ['get another session in the end', (client: number, turn: number) => 100 + client + (turn === 2 ? 10 : 0)],
  ])('are refused if they %s', async (_, sessionOf) => {
    await expect(requireOwnSessions({ Client: clientsWith(sessionOf) })).rejects.toMatchObject({
      code: 'config_invalid',
      detail: { cause: 'database_pooled' },
    })
  })

  test('are not waited for without end', async () => {
    const limits: unknown[] = []
    class Limited extends clientsWith(client => 100 + client) {
      constructor(config: pg.ClientConfig) {
        super(config)
        limits.push(config.query_timeout)
      }
    }
    await requireOwnSessions({ Client: Limited })
    expect(limits).toEqual([7_000, 7_000])
  })
})
