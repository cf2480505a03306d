import { type CsvColumn, csvLines, csvOf } from '#base/csv'
import { type ListColumn } from './list-column.ts'

/** The columns of a list as those of a file: values for programs where a column has them, else the text of the cell. */
export const fileColumnsOf = <T>(columns: readonly ListColumn<T>[]): readonly CsvColumn<T>[] =>
  columns.map(({ label, text, value = text }) => ({ label, value }))

/**
 * A list as CSV. Each page becomes a part of the file before the next one is asked for: a Blob, which the browser keeps outside of
 * the page and may put on the disk. The memory of the page does not grow with the list.
 */
export async function csvParts<T>(
  columns: readonly CsvColumn<T>[],
  pages: AsyncIterable<readonly T[]>,
): Promise<readonly Blob[]> {
  const parts = [new Blob([csvOf([columns.map(({ label }) => label)])])]
  for await (const rows of pages) {
    parts.push(new Blob([csvLines(rows.map(row => columns.map(({ value }) => value(row))))]))
  }
  return parts
}
