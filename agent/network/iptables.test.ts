import { expect, test } from 'vitest'
import { because, becauseOf } from '#manager/contract'
import { hostIptables } from './iptables.ts'

const outcome = (script: string) =>
  hostIptables(['sh', '-c', script])
    .run('iptables-restore', ['--noflush'], '*filter\nCOMMIT\n')
    .catch((error: unknown) => becauseOf(error))

test.each([
  ['its message', 'echo one >&2; echo two >&2; exit 2', because('iptables_says', { text: 'one two' })],
  ['its exit code if it says nothing', 'exit 3', because('iptables_exit', { program: 'iptables-restore', code: 3 })],
  [
    'its signal',
    'echo half >&2; kill -SEGV $$',
    because('iptables_signal', { program: 'iptables-restore', signal: 'SIGSEGV' }),
  ],
])('a program that fails is reported with %s', async (_, script, reason) => {
  expect(await outcome(script)).toEqual(reason)
})

test('a program gets its arguments and its input, and is reported as missing', async () => {
  expect(await outcome('echo "$0 $1"; cat')).toBe('iptables-restore --noflush\n*filter\nCOMMIT\n')
  const missing = hostIptables(['/nonexistent/nsenter']).run('iptables', [])
  expect(becauseOf(await missing.catch((error: unknown) => error))).toEqual(because('iptables_not_installed'))
})
