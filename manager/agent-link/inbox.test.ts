import { expect, test } from 'vitest'
import { createInbox, type InboxItem } from './inbox.ts'

interface Named extends InboxItem {
  readonly name: string
}

test('items are handled one after the other, and an item that has not begun can be withdrawn', async () => {
  const inbox = createInbox<Named>()
  const ran: string[] = []
  const gate = Promise.withResolvers<undefined>()
  const item = (name: string, bytes = 1, before: Promise<unknown> = Promise.resolve()): Named => ({
    name,
    bytes,
    run: async () => {
      await before
      ran.push(name)
    },
  })
  inbox.push(item('first', 1, gate.promise))
  await Promise.resolve()
  inbox.push(item('old', 5 * 2 ** 20))
  expect(inbox.isFull).toBe(true)
  inbox.push(item('event'))
  expect(inbox.take(({ name }) => name === 'old')?.name).toBe('old')
  expect(inbox.take(({ name }) => name === 'old')).toBeUndefined()
  expect(inbox.isFull).toBe(false)
  inbox.push(item('new'))
  gate.resolve(undefined)
  await inbox.idle()
  expect(ran).toEqual(['first', 'event', 'new'])
})

test('many small items fill the inbox as well', async () => {
  const inbox = createInbox()
  for (let i = 0; i < 600; i++) inbox.push({ bytes: 1, run: () => Promise.resolve() })
  expect(inbox.isFull).toBe(true)
  await inbox.idle()
  expect(inbox.isFull).toBe(false)
})

test('an item counts towards the limit until it is handled, not only while it waits', async () => {
  const inbox = createInbox()
  const gate = Promise.withResolvers<undefined>()
  inbox.push({ bytes: 5 * 2 ** 20, run: () => gate.promise })
  await Promise.resolve()
  expect(inbox.isFull).toBe(true)
  gate.resolve(undefined)
  await inbox.idle()
  expect(inbox.isFull).toBe(false)
})
