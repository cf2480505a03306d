import { type Expression, type RawBuilder, sql, type SqlBool } from 'kysely'

/** The last row of the previous page of a sorted list. */
export interface PageEnd {
  /** Expressions that the list is sorted by. */
  readonly values: RawBuilder<unknown>
  /** Tables used by the expressions. */
  readonly from: RawBuilder<unknown>
  /** Condition that a row is this row. */
  readonly is: RawBuilder<boolean>
  /** Condition that the caller may see the row, the same as for the list. */
  readonly seen: Expression<SqlBool>
}

/**
 * The values of that row, for comparison with others. A row that the caller may not see is treated like a deleted one: it has no values, so
 * no row comes after it. Otherwise a caller who knows an id could compare hidden values with rows of their own.
 */
export const valuesAtEnd = ({ values, from, is, seen }: PageEnd): RawBuilder<unknown> =>
  sql`(select ${values} from ${from} where ${is} and ${seen})`
