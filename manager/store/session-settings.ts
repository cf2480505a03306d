import type pg from 'pg'
import { ANSWER_LIMIT_MS } from './answer-limits.ts'

export interface SessionSettings {
  /** Limit of a statement; undefined for none. */
  readonly statementMs: number | undefined
  /** The server ends a transaction that is idle for this long; 0 for never. */
  readonly silentMs: number
  /** False leaves the compiler of queries to the `options` of the URL. */
  readonly jitOff: boolean
}

/**
 * Settles a new connection. By statements, not as parameters of its start: a pooler in session mode refuses parameters that it does not know.
 */
export async function settle(client: pg.ClientBase, { statementMs, silentMs, jitOff }: SessionSettings): Promise<void> {
  const settings = {
    idle_in_transaction_session_timeout: String(silentMs),
    ...(statementMs === undefined ? {} : { statement_timeout: String(statementMs) }),
    // Compiling a query of many joins takes up to two seconds and saves milliseconds.
    ...(jitOff ? { jit: 'off' } : {}),
  }
  await client.query({
    text: 'select set_config(name, value, false) from json_each_text($1) as each (name, value)',
    values: [JSON.stringify(settings)],
    query_timeout: ANSWER_LIMIT_MS,
  } as pg.QueryConfig)
}
