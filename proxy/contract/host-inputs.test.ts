import { expect, test } from 'vitest'
import { HOST_INPUTS } from './host-inputs.ts'

const { terminal, host } = HOST_INPUTS
const open = (name: string) =>
  terminal.open.safeParse([{ sessionId: '0197a2b3-0000-7000-8000-000000000001', name, cols: 80, rows: 24 }]).success

test('names of terminals have one form, wherever the page runs', () => {
  expect(['main', '0', 'a-1', 'a'.repeat(32)].map(open)).toEqual([true, true, true, true])
  expect(['', 'Main', 'a b', '-a', '../a', 'a'.repeat(33)].map(open)).toEqual(Array(6).fill(false))
})

test('every argument has a limit', () => {
  expect(terminal.write.safeParse(['id', new Uint8Array(1_048_576)]).success).toBe(true)
  expect(terminal.write.safeParse(['id', new Uint8Array(1_048_577)]).success).toBe(false)
  expect(terminal.close.safeParse(['x'.repeat(65)]).success).toBe(false)
  expect(host.openExternal.safeParse(['x'.repeat(8193), 'text']).success).toBe(false)
  expect(host.setEndpoint.safeParse([{ kind: 'remote', url: `https://${'x'.repeat(2048)}.example` }]).success).toBe(
    false,
  )
})
