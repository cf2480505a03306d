import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { type Log } from '../log.ts'
import { type Firewall, startFirewall } from './firewall.ts'
import { parseCidr } from './subnets.ts'

/**
 * FAKES of iptables, for the real tables are the host's: `restore` keeps what it was given, and there is a jump where a file says so.
 */
const RESTORE = 'cat > "$(dirname "$0")/rules"'
const IPTABLES = `file="$(dirname "$0")/jump-$4"
case "$3" in
  -C) test -e "$file" ;;
  -I) touch "$file" ;;
esac`

const log = { info() {}, warn() {} } as unknown as Log
let directory: string
let firewall: Firewall

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'berth-test-firewall-'))
  for (const [name, script] of [['iptables-restore', RESTORE] as const, ['iptables', IPTABLES] as const]) {
    await writeFile(join(directory, name), `#!/bin/sh\n${script}\n`)
    await chmod(join(directory, name), 0o755)
  }
  vi.stubEnv('PATH', `${directory}${delimiter}${process.env.PATH}`)
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  const range = parseCidr('10.213.0.0/16')
  if (!range) throw new Error('a range')
  firewall = startFirewall({ range, deny: [], checkRange: () => Promise.resolve(), log, onChange() {} })
})
afterEach(async () => {
  await firewall[Symbol.asyncDispose]()
  vi.useRealTimers()
  vi.unstubAllEnvs()
  await rm(directory, { recursive: true })
})

const inPlace = async () => {
  const rules = await readFile(join(directory, 'rules'), 'utf8').catch(() => '')
  const jumps = ['INPUT', 'DOCKER-USER', 'OUTPUT'].map(name => readFile(join(directory, `jump-${name}`)))
  const jumped = await Promise.allSettled(jumps)
  return rules.includes('BERTH-INPUT') && jumped.every(({ status }) => status === 'fulfilled')
}

// Only root may try.
test.skipIf(process.getuid?.() !== 0)('rules that somebody has removed are put back half a minute later', async () => {
  await firewall.apply()
  expect(firewall.state).toEqual({ isolation: 'full', reason: null })
  expect(await inPlace()).toBe(true)
  for (const name of ['rules', 'jump-INPUT', 'jump-DOCKER-USER']) await rm(join(directory, name))
  expect(await inPlace()).toBe(false)
  vi.advanceTimersByTime(30_000)
  await expect.poll(inPlace).toBe(true)
})
