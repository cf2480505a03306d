import { expect, test } from 'vitest'
import { type ListColumn } from './list-column.ts'
import { csvParts, fileColumnsOf } from './list-csv.ts'

interface Row {
  readonly name: string
  readonly hours: number
  readonly at: string
}
const columns: ListColumn<Row>[] = [
  { key: 'name', label: 'Name', text: ({ name }) => name },
  { key: 'hours', label: 'Hours', text: ({ hours }) => `${hours.toFixed(1)} h`, value: ({ hours }) => hours },
  { key: 'at', label: 'At', text: () => 'yesterday', value: ({ at }) => at },
]
const AT = '2026-11-25T10:00:00.000Z'

test('a file has plain numbers and ISO times where the list has texts for people', async () => {
  async function* pages() {
    yield await Promise.resolve([{ name: 'ada', hours: 1234.5678, at: AT }])
  }
  const bytes = await new Blob([...(await csvParts(fileColumnsOf(columns), pages()))]).bytes()
  expect(Buffer.from(bytes).toString()).toBe(`\uFEFFName,Hours,At\r\nada,1234.5678,${AT}\r\n`)
})

test('a page of the list is a part of the file, outside of the memory of the page, before the next one is asked for', async () => {
  const asked: number[] = []
  const written: number[] = []
  async function* pages() {
    for (let page = 1; page <= 50; page++) {
      // Every row of the page before has been written.
      expect(written.length).toBe((page - 1) * 500)
      asked.push(page)
      yield await Promise.resolve(
        Array.from({ length: 500 }, (_, index) => ({ name: `user-${index}`, hours: page, at: AT })),
      )
    }
  }
  const counted = fileColumnsOf(columns).map((column, index) => ({
    ...column,
    value(row: Row) {
      if (index === 0) written.push(row.hours)
      return column.value(row)
    },
  }))
  const parts = await csvParts(counted, pages())
  expect(asked).toHaveLength(50)
  expect(parts.every(part => part instanceof Blob)).toBe(true)
  expect(parts).toHaveLength(51)
})
