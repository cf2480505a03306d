import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { ROOT } from '../../bootstrap/image-recipes.ts'
import { findProgram } from '../../bootstrap/platform.ts'
import { lockedPackages } from '../locked-packages.ts'
import { DEB_SCRIPTS, RPM_SCRIPTS } from './server-scripts.ts'
import { UNITS, writeUnits } from './server-tree.ts'

const folder = mkdtempSync(join(tmpdir(), 'berth-units-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

test.skipIf(findProgram('systemd-analyze') === undefined)('systemd accepts the units of the packages', () => {
  // A program that exists on every computer: systemd checks that it can be run.
  writeUnits(folder, '/bin/true')
  const { status, stderr } = spawnSync('systemd-analyze', ['verify', ...UNITS.map(unit => join(folder, unit))], {
    encoding: 'utf8',
  })
  expect(stderr.split('\n').filter(line => line.includes('berth'))).toEqual([])
  expect(status).toBe(0)
})

/** Highest exposure by the rules of `systemd-analyze security`, 0 to 100, of units without and with the agent. */
const MANAGER_EXPOSURE = 20
const AGENT_EXPOSURE = 90

test.skipIf(systemdVersion() < 250)('systemd finds each unit no more exposed than was decided', () => {
  writeUnits(folder, '/bin/true')
  for (const unit of UNITS) {
    const threshold = unit === 'berth-manager.service' ? MANAGER_EXPOSURE : AGENT_EXPOSURE
    const options = ['--offline=yes', '--no-pager', `--threshold=${threshold}`]
    const { status, stdout } = spawnSync('systemd-analyze', ['security', ...options, join(folder, unit)], {
      encoding: 'utf8',
    })
    expect(stdout).toContain(`Overall exposure level for ${unit}`)
    expect(status, stdout).toBe(0)
  }
})

test('the manager runs without any right of root; only units with the agent run as root', () => {
  writeUnits(folder, '/usr/bin/berth')
  const unit = (name: string) => readFileSync(join(folder, name), 'utf8')
  expect(unit('berth-manager.service')).toMatch(/^User=berth$[^]*^NoNewPrivileges=yes$[^]*^CapabilityBoundingSet=$/m)
  expect(UNITS.filter(name => !/^User=/m.test(unit(name)))).toEqual(['berth.service', 'berth-agent.service'])
})

test('the guide has the units with their users, data directories and files of variables', () => {
  writeUnits(folder, '/usr/bin/berth')
  const page = readFileSync(join(ROOT, 'docs/admin/installing.md'), 'utf8')
  const [, section = ''] = page.split('## As a service\n')
  const rows = [...section.matchAll(/^\| `(berth[a-z-]*)` \| [^|]+ \| (?:`(\w+)`|(\w+))[^|]* \| `([^`]+)` \|$/gm)]
  const told = rows.map(([, unit = '', named, plain, data]) => [`${unit}.service`, named ?? plain, data])
  const made = UNITS.map(unit => {
    const text = readFileSync(join(folder, unit), 'utf8')
    const valueOf = (key: string) => new RegExp(`^${key}=(.*)$`, 'm').exec(text)?.[1]
    expect(page).toContain(valueOf('EnvironmentFile')?.replace(/^.*\//, ''))
    return [unit, valueOf('User') ?? 'root', valueOf('Environment=BERTH_DATA')]
  })
  expect(told).toEqual(made)
  expect(section).toContain('`/etc/berth/berth.env`, `manager.env` or `agent.env`')
})

test.each(Object.entries({ ...DEB_SCRIPTS, ...RPM_SCRIPTS }))(
  'the script %s is one for sh, and removes no data',
  (_, text) => {
    execFileSync('sh', ['-n'], { input: text })
    expect(text).not.toMatch(/rm .*\/var\//)
  },
)

test('every npm package of the servers names its licence and is pinned by its integrity', () => {
  expect(
    lockedPackages().filter(({ license, integrity }) => license === 'NOASSERTION' || integrity === undefined),
  ).toEqual([])
})

/** 0 where there is no systemd. */
function systemdVersion(): number {
  if (findProgram('systemd-analyze') === undefined) return 0
  const { stdout } = spawnSync('systemd-analyze', ['--version'], { encoding: 'utf8' })
  return Number(/^systemd (\d+)/.exec(stdout)?.[1] ?? 0)
}
