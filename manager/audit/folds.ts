import { type NewAuditRow } from '../store/operation/audit-log.ts'

/**
 * Counts refused requests instead of writing each one, so that nobody can fill the log with them. If an actor repeats a request, the first
 * one becomes a row, and a second row contains the number of repetitions. At most `perActor` different requests of an actor become rows,
 * and another row contains the number of the rest. A successful request is always a row.
 *
 * Requests of people who are not signed in never count as equal. The answer to a request waits for its row, and a counted request has no
 * row. If requests of people who are not signed in could be equal, the time of the answer would reveal to a guesser whether a request named
 * an existing account (a new row) or none (an equal request).
 */
export interface Folds {
  /** True for a row that must be written; false for one that was counted. */
  takes(row: NewAuditRow): boolean
  /** Rows for everything counted since the last call; resets the counts. */
  sums(): NewAuditRow[]
}

interface Actor {
  readonly rows: Map<unknown, { readonly row: NewAuditRow; repeats: number }>
  refused: number
}

/** @param perActor number of refused requests that become rows, per actor, and for all people who are not signed in together */
export function createFolds(perActor: number): Folds {
  const actors = new Map<string | null, Actor>()

  return {
    takes(row) {
      if (row.result === 'ok') return true
      const actor: Actor = actors.get(row.actor_id) ?? { rows: new Map(), refused: 0 }
      actors.set(row.actor_id, actor)
      const key = row.actor_id === null ? row : JSON.stringify(row)
      const known = actor.rows.get(key)
      if (known) known.repeats++
      else if (actor.rows.size < perActor) actor.rows.set(key, { row, repeats: 0 })
      else actor.refused++
      return !known && actor.refused === 0
    },

    sums() {
      const sums = [...actors.values()].flatMap(({ rows, refused }) => {
        const again = [...rows.values()].filter(({ repeats }) => repeats > 0)
        const told: NewAuditRow[] = again.map(({ row, repeats }) => ({ ...row, detail: { ...row.detail, repeats } }))
        const [first] = rows.values()
        return first && refused > 0 ? [...told, suppressed(first.row, refused)] : told
      })
      actors.clear()
      return sums
    },
  }
}

function suppressed({ actor_id, actor, domain }: NewAuditRow, refused: number): NewAuditRow {
  return {
    actor_id,
    actor,
    domain: actor_id === null ? null : domain,
    token: null,
    token_id: null,
    acted_as: null,
    action: 'auditSuppressed',
    target: null,
    result: 'ok',
    detail: { refused },
    address: null,
  }
}
