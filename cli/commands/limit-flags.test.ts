import { Command } from 'commander'
import { expect, test } from 'vitest'
import { limitOf, namesSlots, type OrUnlimited, parseLimit, type SlotFlags, slotsOf, withSlots } from './limit-flags.ts'

function parse(args: readonly string[], orUnlimited = true): SlotFlags {
  const command = withSlots(new Command().exitOverride().configureOutput({ writeErr: () => undefined }), orUnlimited)
  return command.parse([...args], { from: 'user' }).opts()
}

test('limits that are not named stay, unlimited ones are removed', () => {
  const before = { cpu: '4', mem: '17179869184', 'cuda.shares': '1.5' }
  expect(slotsOf(parse(['--cpu', '8', '--gpu-shares', 'unlimited']), before)).toEqual({ cpu: '8', mem: '17179869184' })
  expect(slotsOf(parse([]), before)).toEqual(before)
  expect(namesSlots(parse([]))).toBe(false)
  expect(namesSlots(parse(['--mem', 'unlimited']))).toBe(true)
})

test('invalid amounts are refused at their flag', () => {
  for (const args of [
    ['--cpu', 'many'],
    ['--gpu', '0.5'],
    ['--mem', '4x'],
    ['--gpu-shares', '-1'],
  ])
    expect(() => parse(args)).toThrow()
  expect(() => parse(['--cpu', 'unlimited'], false)).toThrow()
})

test.each([
  ['--cpu', '-1', 'a number of cores, such as 2'],
  ['--gpu', '0.5', 'For a share of a GPU use --gpu-shares'],
  ['--gpu-shares', '0.333', 'in steps of 0.01'],
  ['--mem', '-1g', 'an amount such as 16g'],
])('%s %s is refused with the accepted values', (flag, value, said) => {
  expect(() => parse([`${flag}=${value}`])).toThrow(said)
})

test('a limit is a whole number or unlimited', () => {
  const command = new Command().option('--sessions <n>', '', parseLimit)
  const parsed = (text: string) =>
    limitOf(command.parse(['--sessions', text], { from: 'user' }).opts<{ sessions: OrUnlimited<number> }>().sessions)
  expect([parsed('0'), parsed('30'), parsed('unlimited')]).toEqual([0, 30, null])
  for (const text of ['1.5', '-1', 'no', '']) expect(() => (text === '' ? parseLimit('x') : parseLimit(text))).toThrow()
})
