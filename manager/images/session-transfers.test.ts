import { z } from 'zod'
import { expect, test } from 'vitest'
import { SessionId } from '#manager/contract'
import { transferIdOf } from './session-transfers.ts'

const one = SessionId.parse('0199a0e0-0000-7000-8000-000000000001')
const other = SessionId.parse('0199a0e0-0000-7000-8000-000000000002')

test('each attempt of each session has one transfer, whichever manager asks', () => {
  const ids = [transferIdOf(one, 1), transferIdOf(one, 2), transferIdOf(other, 1)]
  expect(new Set(ids).size).toBe(3)
  expect(transferIdOf(one, 1)).toBe(ids[0])
  for (const id of ids) expect(z.uuid().parse(id)).toBe(id)
})
