import { type Expression, type RawBuilder, sql, type SqlBool } from 'kysely'

/** The row at which the last page of a sorted list ended. */
export interface PageEnd {
  /** Expressions that the list is sorted by. */
  readonly values: RawBuilder<unknown>
  /** Tables that the expressions name. */
  readonly from: RawBuilder<unknown>
  /** Condition that it is this row. */
  readonly is: RawBuilder<boolean>
  /** Condition that the caller may see the row: the same that the list has. */
  readonly seen: Expression<SqlBool>
}

/**
 * The values of that row, to compare others with. A row that the caller may not see (any more) is like one that was deleted: there are
 * no values, so no row comes after them. Otherwise a caller who knows an id could compare what is hidden with rows of their own.
 */
export const valuesAtEnd = ({ values, from, is, seen }: PageEnd): RawBuilder<unknown> =>
  sql`(select ${values} from ${from} where ${is} and ${seen})`
