import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { type Log } from '../log.ts'
import { type Firewall, startFirewall } from './firewall.ts'
import { parseCidr } from './subnets.ts'

/**
 * FAKES of iptables, for the real tables are the host's: `restore` keeps what it was given and counts its calls, there is a jump where a
 * file says so, and `save` prints both.
 */
const RESTORE = 'cat > "$(dirname "$0")/rules"; echo >> "$(dirname "$0")/restores"'
const SAVE = `cd "$(dirname "$0")"
cat rules 2>/dev/null
for jump in INPUT:INPUT DOCKER-USER:FORWARD OUTPUT:OUTPUT; do
  if test -e "jump-\${jump%:*}"; then echo "-A \${jump%:*} -j BERTH-\${jump#*:}"; fi
done`
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
  const programs = { 'iptables-restore': RESTORE, 'iptables-save': SAVE, iptables: IPTABLES }
  for (const [name, script] of Object.entries(programs)) {
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

const replace = (program: string, script: string) => writeFile(join(directory, program), `#!/bin/sh\n${script}\n`)

const restores = async () => (await readFile(join(directory, 'restores'), 'utf8')).length

// Only root may try.
describe.skipIf(process.getuid?.() !== 0)('firewall rules', () => {
  test.each([['rules'], ['jump-INPUT'], ['jump-DOCKER-USER']])(
    'rules are restored half a minute after somebody removed %s',
    async name => {
      await firewall.apply()
      expect(firewall.state).toEqual({ isolation: 'full', reason: null })
      expect(await inPlace()).toBe(true)
      await rm(join(directory, name))
      expect(await inPlace()).toBe(false)
      vi.advanceTimersByTime(30_000)
      await expect.poll(inPlace).toBe(true)
    },
  )

  test('rules that are in place are not installed again, unless they cannot be listed', async () => {
    await firewall.apply()
    await firewall.apply()
    expect(await restores()).toBe(1)
    await rm(join(directory, 'iptables-save'))
    await writeFile(join(directory, 'iptables-save'), '#!/bin/sh\nexit 1\n', { mode: 0o755 })
    await firewall.apply()
    await firewall.apply()
    expect(await restores()).toBe(3)
    expect(firewall.state.isolation).toBe('full')
  })

  test.each([
    ['prints nothing', 'exit 0'],
    ['has lost a rule', SAVE.replace('cat rules', 'sed "/BERTH-OUTPUT.*tcp-reset/d" rules')],
    ['has lost a jump', SAVE.replace('INPUT:INPUT ', '')],
  ])('rules are installed again as long as iptables-save %s', async (_, script) => {
    await replace('iptables-save', script)
    await firewall.apply()
    await firewall.apply()
    expect(await restores()).toBe(2)
    await replace('iptables-save', SAVE)
    await firewall.apply()
    await firewall.apply()
    expect(await restores()).toBe(3)
  })

  test('rules for bridged frames are tried again if the kernel refused them', async () => {
    const refuse = 'text=$(cat); case "$text" in *physdev*) exit 1 ;; esac; echo "$text" | '
    await replace('iptables-restore', `${refuse} (${RESTORE})`)
    await firewall.apply()
    expect(firewall.state.isolation).toBe('full')
    expect(await inPlace()).toBe(true)
    // The module is loaded now.
    await replace('iptables-restore', RESTORE)
    await firewall.apply()
    expect(await readFile(join(directory, 'rules'), 'utf8')).toContain('physdev')
    await firewall.apply()
    expect(await restores()).toBe(2)
  })
})
