import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { because } from '#manager/contract'
import { type Log } from '../log.ts'
import { type Firewall, startFirewall } from './firewall.ts'
import { type Iptables } from './iptables.ts'
import { parseCidr } from './subnets.ts'

/** FAKE of iptables: the table `filter` in memory, with the chains of a Docker that creates DOCKER-USER. */
class FakeTables implements Iptables {
  readonly chains = new Map<string, string[]>([
    ['INPUT', []],
    ['FORWARD', ['-j DOCKER-USER', '-j DOCKER-FORWARD']],
    ['OUTPUT', []],
    ['DOCKER-USER', []],
  ])
  restores = 0
  /** Error text for calls that the test refuses. */
  refuses: (program: string, text: string) => string | undefined = () => undefined
  listing = (text: string): string => text

  check(): void {}

  async run(program: string, args: readonly string[], input = ''): Promise<string> {
    const refused = this.refuses(program, input || args.join(' '))
    if (refused !== undefined) throw new Error(refused)
    if (program === 'iptables-restore') this.restore(input)
    if (program === 'iptables') this.change(args.slice(2))
    return await Promise.resolve(program === 'iptables-save' ? this.listing(this.print()) : '')
  }

  private restore(input: string): void {
    this.restores++
    for (const [, name = ''] of input.matchAll(/^:(\S+)/gm)) this.chains.set(name, [])
    for (const [, name = '', rule = ''] of input.matchAll(/^-A (\S+) (.*)$/gm)) this.chains.get(name)?.push(rule)
  }

  private change([what, from = '', ...words]: readonly string[]): void {
    const rules = this.chains.get(from)
    const rule = words.filter(word => word !== '1').join(' ')
    if (!rules || !this.chains.has(words.at(-1) ?? '')) throw new Error('No chain/target/match by that name.')
    const at = rules.indexOf(rule)
    if (what === '-I') rules.unshift(rule)
    else if (at === -1) throw new Error('Bad rule (does a matching rule exist in that chain?).')
    else if (what === '-D') rules.splice(at, 1)
  }

  private print(): string {
    return [...this.chains].flatMap(([name, rules]) => rules.map(rule => `-A ${name} ${rule}`)).join('\n')
  }
}

const log = { info() {}, warn() {} } as unknown as Log
let tables: FakeTables
let firewall: Firewall

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  const range = parseCidr('10.213.0.0/16')
  if (!range) throw new Error('a range')
  tables = new FakeTables()
  const checkRange = () => Promise.resolve()
  firewall = startFirewall({ range, deny: [], checkRange, iptables: tables, log, onChange() {} })
})
afterEach(async () => {
  await firewall[Symbol.asyncDispose]()
  vi.useRealTimers()
})

const rules = (chain: string) => tables.chains.get(chain) ?? []
const full = { isolation: 'full', reason: null }

test.each([
  ['rules', () => tables.chains.set('BERTH-INPUT', [])],
  ['the jump from INPUT', () => rules('INPUT').pop()],
  ['the jump from DOCKER-USER', () => rules('DOCKER-USER').pop()],
])('rules are restored half a minute after somebody removed %s', async (_, remove) => {
  await firewall.apply()
  expect(firewall.state).toEqual(full)
  const before = structuredClone(tables.chains)
  expect(rules('DOCKER-USER')).toEqual(['-j BERTH-FORWARD'])
  remove()
  expect(tables.chains).not.toEqual(before)
  vi.advanceTimersByTime(30_000)
  await expect.poll(() => tables.chains).toEqual(before)
})

test('rules that are in place are not installed again, unless they cannot be listed', async () => {
  await firewall.apply()
  await firewall.apply()
  expect(tables.restores).toBe(1)
  tables.refuses = program => (program === 'iptables-save' ? 'cannot list' : undefined)
  await firewall.apply()
  await firewall.apply()
  expect(tables.restores).toBe(3)
  expect(firewall.state).toEqual(full)
})

test.each([
  ['prints nothing', () => ''],
  ['has lost a rule', (text: string) => text.replace(/^.*BERTH-OUTPUT.*tcp-reset$/m, '')],
  ['has lost a jump', (text: string) => text.replace('-A INPUT -j BERTH-INPUT', '')],
])('rules are installed again as long as iptables-save %s', async (_, listing) => {
  tables.listing = listing
  await firewall.apply()
  await firewall.apply()
  expect(tables.restores).toBe(2)
  tables.listing = text => text
  await firewall.apply()
  await firewall.apply()
  expect(tables.restores).toBe(3)
})

test('rules for bridged frames are tried again if the kernel refused them', async () => {
  tables.refuses = (_, text) => (text.includes('physdev') ? 'no such match' : undefined)
  await firewall.apply()
  expect(firewall.state).toEqual(full)
  // The module is loaded from here on.
  tables.refuses = () => undefined
  await firewall.apply()
  expect(rules('BERTH-FORWARD').join('\n')).toContain('physdev')
  await firewall.apply()
  expect(tables.restores).toBe(2)
})

test('a kernel without the match for bridged frames counts connections all the same', async () => {
  tables.refuses = (_, text) => (text.includes('physdev') ? 'no such match' : undefined)
  await firewall.apply()
  expect(rules('BERTH-FORWARD').join('\n')).toContain('connlimit')
  tables.refuses = (_, text) => (/physdev|connlimit/.test(text) ? 'no such match' : undefined)
  await firewall.apply()
  expect(firewall.state).toEqual(full)
  expect(rules('BERTH-FORWARD').join('\n')).toContain('-d 169.254.0.0/16')
})

test('a kernel that cannot count connections isolates sessions all the same', async () => {
  tables.refuses = (_, text) => (text.includes('connlimit') ? 'no such match' : undefined)
  await firewall.apply()
  expect(firewall.state).toEqual(full)
  expect(rules('BERTH-FORWARD').join('\n')).toContain('physdev')
  tables.refuses = () => undefined
  await firewall.apply()
  expect(rules('BERTH-FORWARD').join('\n')).toContain('connlimit')
})

test('without Docker’s own chain FORWARD leads to the rules, and the jump moves when Docker’s chain is there again', async () => {
  tables.chains.delete('DOCKER-USER')
  tables.chains.set('FORWARD', ['-j SOMEBODY'])
  await firewall.apply()
  expect(firewall.state).toEqual(full)
  expect(rules('FORWARD')).toEqual(['-j BERTH-FORWARD', '-j SOMEBODY'])
  expect(rules('OUTPUT')).toEqual(['-j BERTH-OUTPUT'])

  tables.chains.set('DOCKER-USER', [])
  rules('FORWARD').unshift('-j DOCKER-USER')
  await firewall.apply()
  expect(firewall.state).toEqual(full)
  expect([rules('FORWARD'), rules('DOCKER-USER')]).toEqual([['-j DOCKER-USER', '-j SOMEBODY'], ['-j BERTH-FORWARD']])

  // The chain stays behind, but Docker does not use it any more.
  rules('FORWARD').shift()
  await firewall.apply()
  expect(firewall.state).toEqual(full)
  expect(rules('FORWARD')).toEqual(['-j BERTH-FORWARD', '-j SOMEBODY'])
  await firewall.apply()
  expect(tables.restores).toBe(3)
})

test('a chain that cannot be called leaves the others in place, and the reason names it', async () => {
  tables.refuses = (_, text) => (/-I (DOCKER-USER|FORWARD)/.test(text) ? 'table is locked' : undefined)
  await firewall.apply()
  expect([rules('INPUT'), rules('OUTPUT')]).toEqual([['-j BERTH-INPUT'], ['-j BERTH-OUTPUT']])
  expect(firewall.state).toEqual({
    isolation: 'partial',
    reason: {
      why: 'The rules of sessions are missing in FORWARD. The firewall could not be set up: table is locked',
      cause: 'firewall_chains_missing',
      values: { chains: 'FORWARD' },
      more: [{ cause: 'iptables_says', values: { text: 'table is locked' } }],
    },
  })
  tables.refuses = () => undefined
  await firewall.apply()
  expect(firewall.state).toEqual(full)
})

test('a kernel without a match of one chain has the rules of the others, the metadata service among them', async () => {
  tables.refuses = (_, text) => (text.includes('--uid-owner') ? 'no match owner' : undefined)
  await firewall.apply()
  expect(firewall.state.reason?.why).toMatch(/missing in OUTPUT\..*no match owner/)
  expect(rules('DOCKER-USER')).toEqual(['-j BERTH-FORWARD'])
  expect(rules('BERTH-FORWARD').join('\n')).toContain('-d 169.254.0.0/16')
})

test('a machine whose tables cannot be changed at all says why', async () => {
  tables.check = () => {
    throw new Error('not here')
  }
  await firewall.apply()
  expect(firewall.state).toEqual({ isolation: 'partial', reason: because('iptables_says', { text: 'not here' }) })
  expect(tables.restores).toBe(0)
})
