import { type NewAuditRow } from '../store/operation/audit-log.ts'

/**
 * What is counted instead of written, so that nobody fills the log with requests that are refused: of those of one actor
 * that are alike the first is a row, and the number of the others another one; of those that differ, so many are rows, and
 * the number of the others another one. What succeeded is never counted only.
 *
 * Of those who are not signed in none are alike: whoever guesses could otherwise tell by the time of the answer, which waits
 * for the row, whether an account was named for the first time or none was named again.
 */
export interface Folds {
  /** True for a row that is to be written; else it was counted. */
  takes(row: NewAuditRow): boolean
  /** Of what was counted since the last time; everything begins anew. */
  sums(): NewAuditRow[]
}

interface Actor {
  readonly rows: Map<unknown, { readonly row: NewAuditRow; repeats: number }>
  refused: number
}

/** @param perActor how many refused requests of one actor, or of all that are not signed in, are rows */
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
    acted_as: null,
    action: 'auditSuppressed',
    target: null,
    result: 'ok',
    detail: { refused },
    address: null,
  }
}
