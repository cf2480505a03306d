import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { isCauseKey, type CertificateReport } from '#manager/contract'
import { CHECKS } from './checks/index.ts'
import { checksOf, describeDiagnosis, diagnose } from './doctor.ts'
import { type Engine, type Facts, type GpuFacts } from './facts.ts'

type Reachable = Extract<Engine, { status: 'reachable' }>
const GIB = 2 ** 30

const ENGINE: Reachable = {
  status: 'reachable',
  version: '28.2.2',
  apiVersion: '1.50',
  isPodman: false,
  liveRestore: true,
  cgroupVersion: '2',
  storageDriver: 'overlay2',
  rootDirectory: '/var/lib/docker',
  rootFreeBytes: 100 * GIB,
  firewallBackend: undefined,
  hasBridgesHere: true,
  gpus: { cdi: 'listed', names: [], runtime: false },
  toolbox: { image: 'berth/toolbox:latest', present: true },
  sessionImages: 2,
}
const CERTIFICATE: CertificateReport = {
  source: 'own',
  names: ['localhost'],
  issuer: 'Berth',
  fingerprint: 'AB:CD',
  keyFingerprint: '0'.repeat(64),
  notBefore: '2026-10-01T00:00:00Z',
  notAfter: '2027-10-01T00:00:00Z',
  isPublic: false,
  problem: null,
}
const KERNEL = { processes: 524_288, epollWatches: 2 ** 30, files: 2 ** 63, memBytes: 64 * GIB }
const HEALTHY: Facts = {
  platform: 'linux',
  isRoot: true,
  nodeVersion: 'v24.21.0',
  data: { path: '/var/lib/berth', exists: true, mode: 0o711, foreign: false, freeBytes: 100 * GIB },
  homes: { path: '/srv/homes', freeBytes: 100 * GIB, floorBytes: GIB },
  health: { program: '/usr/local/bin/host-ok', failure: undefined },
  slurm: { epilogs: ['/etc/slurm/epilog.d/*'], hasOwn: true, isHistoryThere: true },
  sessionFiles: [
    { path: '/srv/homes', isOpen: false, hasNosuid: false },
    { path: '/mnt/berth/folders', isOpen: true, hasNosuid: true },
  ],
  kernelLimits: KERNEL,
  engine: ENGINE,
  nvidia: { status: 'absent' },
  amd: { gpus: 0, canCompute: false },
  consolePort: { port: 8400, status: 'ours' },
  database: { kind: 'embedded', version: '18', mode: 0o700, readable: true },
  secrets: [{ path: '/var/lib/berth/admin-password', mode: 0o600 }],
  running: { url: 'http://localhost:8400', pid: 7 },
  managerAheadMs: -900,
  managerWarnings: [],
  proxyFaults: [],
  apps: { address: 'https://berth.example.org:20000-20099', proposal: null, fault: null },
  certificate: CERTIFICATE,
  metrics: { hosts: [], hasToken: false },
  now: new Date('2026-11-01T00:00:00Z'),
  update: { status: 'newest', version: '0.1.0' },
  iptables: { status: 'works', dockerUser: true },
  ipForward: true,
  localhostNamesResolve: true,
  sshVersion: 'OpenSSH_9.2p1',
}
const withEngine = (change: Partial<Reachable>): Facts => ({ ...HEALTHY, engine: { ...ENGINE, ...change } })
const external = {
  kind: 'external',
  status: 'reachable',
  version: '15.4',
  versionNumber: 150_004,
  aheadMs: 3,
  isReadOnly: false,
  waitsForStandby: false,
} as const
const [A, B] = ['GPU-5f1c0b0a-6f41-4c4f-9a51-6f2f8d0f0a11', 'GPU-b2a3c7a4-93a7-8a0a-3b42-9d2c4d1a7e02'] as const
const gpus = {
  status: 'works',
  driver: '570.1',
  gpus: [
    { uuid: A, index: '0' },
    { uuid: B, index: '1' },
  ],
  hook: false,
  limitsMemory: false,
} as const
const withGpus = (cdi: GpuFacts['cdi'], names: string[] = [], { runtime = false, hook = false } = {}): Facts => ({
  ...withEngine({ gpus: { cdi, names, runtime } }),
  nvidia: { ...gpus, hook },
})

test('a healthy computer passes every check', () => {
  const { level, checks } = diagnose(HEALTHY)
  expect(checks.filter(check => check.level !== 'ok')).toEqual([])
  expect(level).toBe('ok')
  expect(checks).toHaveLength(CHECKS.length)
})

test('every check of the folder runs, and each has a name of its own', () => {
  const files = readdirSync(join(import.meta.dirname, 'checks')).filter(name => name !== 'index.ts')
  expect(CHECKS).toHaveLength(files.length)
  expect(new Set(CHECKS.map(check => check.name)).size).toBe(CHECKS.length)
})

const CASES: readonly [string, Facts, string, 'warning' | 'problem', RegExp][] = [
  [
    'a newer version',
    { ...HEALTHY, update: { status: 'newer', version: '0.1.0', newer: '0.2.0' } },
    'version',
    'warning',
    /0\.2\.0/,
  ],
  [
    'a health command that fails',
    { ...HEALTHY, health: { program: '/usr/local/bin/host-ok', failure: 'no disk' } },
    'health command',
    'problem',
    /host-ok fails: no disk/,
  ],
  [
    'a Slurm without an epilog',
    { ...HEALTHY, slurm: { epilogs: [], hasOwn: undefined, isHistoryThere: undefined } },
    'Slurm epilog',
    'warning',
    /before its containers are gone/,
  ],
  [
    'an epilog of somebody else',
    { ...HEALTHY, slurm: { epilogs: ['/etc/slurm/clean.sh'], hasOwn: false, isHistoryThere: undefined } },
    'Slurm epilog',
    'warning',
    /clean\.sh.* is not Berth's/,
  ],
  [
    'a Slurm whose history is away',
    { ...HEALTHY, slurm: { epilogs: ['/etc/slurm/epilog.d/*'], hasOwn: true, isHistoryThere: false } },
    'Slurm history',
    'warning',
    /sacct.* does not say why/,
  ],
  [
    'a certificate that ends soon',
    { ...HEALTHY, certificate: { ...CERTIFICATE, source: 'files', notAfter: '2026-11-06T12:00:00Z' } },
    'certificate',
    'warning',
    /ends within two weeks/,
  ],
  [
    'a certificate that could not be renewed',
    { ...HEALTHY, certificate: { ...CERTIFICATE, source: 'acme', problem: 'The authority refused it.' } },
    'certificate',
    'warning',
    /The authority refused it/,
  ],
  [
    'metrics without a token on a server',
    { ...HEALTHY, metrics: { hosts: ['10.0.0.5'], hasToken: false } },
    'metrics',
    'warning',
    /10\.0\.0\.5.*\/metrics without a token/,
  ],
  ['an old Node', { ...HEALTHY, nodeVersion: 'v22.1.0' }, 'Node', 'problem', /v22/],
  [
    'an engine that does not answer',
    { ...HEALTHY, engine: { status: 'unreachable', why: 'ECONNREFUSED' } },
    'Docker Engine',
    'problem',
    /ECONNREFUSED/,
  ],
  ['an old engine', withEngine({ apiVersion: '1.40', version: '19.3' }), 'Docker Engine', 'problem', /1\.40/],
  ['Podman', withEngine({ isPodman: true }), 'Docker Engine', 'problem', /Podman/],
  ['no live-restore', withEngine({ liveRestore: false }), 'live-restore', 'warning', /restarts/],
  ['cgroups of version 1', withEngine({ cgroupVersion: '1' }), 'cgroups', 'warning', /Version 1/],
  ['a slow storage driver', withEngine({ storageDriver: 'vfs' }), 'storage driver', 'warning', /vfs/],
  [
    'no toolbox',
    withEngine({ toolbox: { image: 'berth/toolbox:latest', present: false } }),
    'toolbox image',
    'problem',
    /SFTP/,
  ],
  ['no session image', withEngine({ sessionImages: 0 }), 'session images', 'warning', /no session image/],
  ['a full disk of the engine', withEngine({ rootFreeBytes: GIB / 2 }), 'disk of the engine', 'problem', /0\.5 GiB/],
  ['little room for images', withEngine({ rootFreeBytes: 2 * GIB }), 'disk of the engine', 'warning', /2\.0 GiB/],
  [
    'folders that every user of the computer reaches',
    { ...HEALTHY, sessionFiles: [{ path: '/mnt/berth/folders', isOpen: true, hasNosuid: false }] },
    'files of sessions',
    'warning',
    /pass through \/mnt\/berth\/folders/,
  ],
  [
    'few process ids',
    { ...HEALTHY, kernelLimits: { ...KERNEL, processes: 32_768 } },
    'limits of the kernel',
    'warning',
    /32768 processes/,
  ],
  [
    'few open files',
    { ...HEALTHY, kernelLimits: { ...KERNEL, files: 4 * 2 ** 20 } },
    'open files',
    'warning',
    /4194304 open files.*1\.0 GiB/,
  ],
  [
    'a disk of homes below the floor of the agent',
    { ...HEALTHY, homes: { path: '/srv/homes', freeBytes: 45 * GIB, floorBytes: 50 * GIB } },
    'disk of the homes',
    'problem',
    /45\.0 GiB free at \/srv\/homes.*50\.0 GiB/,
  ],
  [
    'a disk of homes near the floor of the agent',
    { ...HEALTHY, homes: { path: '/srv/homes', freeBytes: 60 * GIB, floorBytes: 50 * GIB } },
    'disk of the homes',
    'warning',
    /60\.0 GiB/,
  ],
  [
    'a full disk of the data directory',
    { ...HEALTHY, data: { ...HEALTHY.data, freeBytes: 1000 } },
    'disk of the data directory',
    'problem',
    /0\.0 GiB/,
  ],
  [
    'a data directory that all may write to',
    { ...HEALTHY, data: { ...HEALTHY.data, mode: 0o777 } },
    'data directory',
    'problem',
    /write/,
  ],
  [
    'a secret that others may read',
    { ...HEALTHY, secrets: [{ path: '/d/master.key', mode: 0o640 }] },
    'files with secrets',
    'problem',
    /master\.key/,
  ],
  [
    'a taken console port',
    { ...HEALTHY, consolePort: { port: 8400, status: 'taken' } },
    'console port',
    'problem',
    /8400/,
  ],
  [
    'a console port that the user may not have',
    { ...HEALTHY, consolePort: { port: 443, status: 'reserved' } },
    'console port',
    'problem',
    /may not listen at port 443/,
  ],
  [
    'a cluster of another version',
    { ...HEALTHY, database: { kind: 'embedded', version: '17', mode: 0o700, readable: true } },
    'database',
    'problem',
    /17/,
  ],
  [
    'a cluster that others may read',
    { ...HEALTHY, database: { kind: 'embedded', version: '18', mode: 0o755, readable: true } },
    'database',
    'problem',
    /files of the database/,
  ],
  [
    'an external database that is too old',
    { ...HEALTHY, database: { ...external, version: '14.9', versionNumber: 140_009 } },
    'database',
    'problem',
    /14\.9/,
  ],
  [
    'an external database that is a standby',
    { ...HEALTHY, database: { ...external, isReadOnly: true } },
    'database',
    'problem',
    /takes no writes/,
  ],
  [
    'an external database whose standby does not answer',
    { ...HEALTHY, database: { ...external, waitsForStandby: true } },
    'database',
    'problem',
    /waits for its synchronous standby/,
  ],
  [
    'two servers that take writes',
    {
      ...HEALTHY,
      database: {
        ...external,
        servers: [
          { at: 'one:5432', role: 'primary', timeline: 1 },
          { at: 'two:5432', role: 'primary', timeline: 2 },
        ],
      },
    },
    'database',
    'problem',
    /two:5432 on timeline 2, and one:5432 on timeline 1/,
  ],
  [
    'servers without a primary',
    {
      ...HEALTHY,
      database: {
        ...external,
        isReadOnly: true,
        servers: [
          { at: 'one:5432', role: 'away', why: 'refused.' },
          { at: 'two:5432', role: 'standby', isFed: false },
        ],
      },
    },
    'database',
    'problem',
    /None of the servers/,
  ],
  [
    'a standby that is away',
    {
      ...HEALTHY,
      database: {
        ...external,
        servers: [
          { at: 'one:5432', role: 'primary', timeline: 1 },
          { at: 'two:5432', role: 'away', why: 'refused.' },
        ],
      },
    },
    'database',
    'warning',
    /two:5432 of DATABASE_URL does not answer: refused\./,
  ],
  [
    'a standby on another timeline',
    {
      ...HEALTHY,
      database: {
        ...external,
        servers: [
          { at: 'one:5432', role: 'primary', timeline: 2 },
          { at: 'two:5432', role: 'standby', isFed: false },
        ],
      },
    },
    'database',
    'warning',
    /two:5432 .* receives nothing/,
  ],
  [
    'an external database that is gone',
    { ...HEALTHY, database: { kind: 'external', status: 'unreachable', why: 'refused' } },
    'database',
    'problem',
    /refused/,
  ],
  [
    'the clock of a database that is ahead',
    { ...HEALTHY, database: { ...external, aheadMs: 61_000 } },
    'clock',
    'warning',
    /61 s ahead/,
  ],
  ['the clock of a manager that is behind', { ...HEALTHY, managerAheadMs: -9_000 }, 'clock', 'warning', /9 s behind/],
  [
    'managers of different versions',
    { ...HEALTHY, managerWarnings: ['manager_versions_differ', 'of_a_newer_manager'] },
    'managers',
    'warning',
    /different versions.* of_a_newer_manager/,
  ],
  [
    'a reverse proxy that is not named',
    { ...HEALTHY, proxyFaults: [{ code: 'not_trusted', peer: '10.0.0.9', firstSeen: 'A', lastSeen: 'B' }] },
    'reverse proxy',
    'warning',
    /10\.0\.0\.9 carry X-Forwarded fields.* Seen from A to B/,
  ],
  [
    'an address of apps at which another program answers',
    {
      ...HEALTHY,
      apps: {
        address: 'https://*.apps.example.org',
        proposal: null,
        fault: { code: 'not_berth', at: 'https://aaaaaaaaaaaaaaaa.apps.example.org' },
      },
    },
    'address of apps',
    'warning',
    /apps\.example\.org was called from this computer, and another program than Berth answers/,
  ],
  [
    'a driver that fails',
    { ...HEALTHY, nvidia: { status: 'failing', why: 'version mismatch' } },
    'GPU',
    'problem',
    /version mismatch/,
  ],
  [
    'GPUs of AMD on which nothing computes',
    { ...HEALTHY, amd: { gpus: 2, canCompute: false } },
    'GPU',
    'problem',
    /not \/dev\/kfd/,
  ],
  ['GPUs that the engine cannot give away', withGpus('unknown'), 'GPU', 'problem', /2 GPUs/],
  ['no iptables', { ...HEALTHY, iptables: { status: 'missing' } }, 'isolation of sessions', 'warning', /not installed/],
  [
    'an iptables that fails',
    { ...HEALTHY, iptables: { status: 'failing', why: 'no table' } },
    'isolation of sessions',
    'warning',
    /fails: no table/,
  ],
  [
    'an engine in another network',
    withEngine({ hasBridgesHere: false }),
    'isolation of sessions',
    'warning',
    /another network namespace/,
  ],
  ['no forwarding', { ...HEALTHY, ipForward: false }, 'IP forwarding', 'problem', /internet/],
  [
    'no names below localhost',
    { ...HEALTHY, localhostNamesResolve: false },
    'names below localhost',
    'warning',
    /app\.localhost/,
  ],
  ['no ssh', { ...HEALTHY, sshVersion: undefined }, 'OpenSSH client', 'warning', /berth ssh/],
]

test.each(CASES)('%s is found, and nothing else', (_name, facts, check, level, says) => {
  const diagnosis = diagnose(facts)
  const found = diagnosis.checks.filter(one => one.level !== 'ok')
  expect(found).toMatchObject([{ name: check, level, says: expect.stringMatching(says) as string }])
  expect(diagnosis.level).toBe(level)
  expect(found[0] && 'mend' in found[0] ? found[0].mend.length : 0).toBeGreaterThan(5)
})

describe('GPUs that the engine can hand out', () => {
  test.each<[string, Facts, RegExp]>([
    ['by UUID', withGpus('listed', [A, B, '0', '1', 'all']), /by CDI \(2 of 2 by UUID\)/],
    ['by index', withGpus('listed', ['0', '1']), /by CDI \(2 of 2 by index/],
    ['in files that it does not list', withGpus('unlisted'), /does not list its devices/],
    ['by a runtime', withGpus('unknown', [], { runtime: true }), /by NVIDIA's runtime/],
    ['by a hook alone', withGpus('listed', [], { hook: true }), /by NVIDIA's runtime/],
  ])('%s are fine', (_, facts, says) => {
    const found = diagnose(facts).checks.find(({ name }) => name === 'GPU')
    expect(found).toMatchObject({ level: 'ok', says: expect.stringMatching(says) as string })
  })

  test('or perhaps cannot, in a virtual machine that has programs of its own, are no problem', () => {
    const elsewhere = { ...ENGINE, hasBridgesHere: false, gpus: { cdi: 'off', names: [], runtime: false } } as const
    const { checks } = diagnose({ ...HEALTHY, engine: elsewhere, nvidia: gpus })
    expect(checks.find(({ name }) => name === 'GPU')).toMatchObject({ level: 'ok' })
  })

  test.each<[string, Facts, string, RegExp, RegExp]>([
    ['one of two', withGpus('listed', [A]), 'problem', /knows 1 of 2 GPUs by CDI/, /nvidia-ctk cdi generate/],
    ['one of two, with a hook', withGpus('listed', [A], { hook: true }), 'warning', /knows 1 of 2/, /cdi generate/],
    ['none, with CDI', withGpus('listed'), 'problem', /cannot hand them/, /^Run `nvidia-ctk cdi generate/],
    ['none, with CDI off', withGpus('off'), 'problem', /cannot hand them/, /features\.cdi/],
    ['none, without CDI', withGpus('unknown'), 'problem', /cannot hand them/, /^Install nvidia-container-toolkit/],
  ])('and its knowledge of %s is told with the way out', (_, facts, level, says, mend) => {
    const found = diagnose(facts).checks.find(({ name }) => name === 'GPU')
    expect(found).toMatchObject({
      level,
      says: expect.stringMatching(says) as string,
      mend: expect.stringMatching(mend) as string,
    })
  })
})

test('an agent that is not root needs no iptables of this computer', () => {
  const facts: Facts = { ...HEALTHY, isRoot: false, iptables: { status: 'missing' } }
  const found = diagnose(facts).checks.find(({ name }) => name === 'isolation of sessions')
  expect(found).toMatchObject({ level: 'ok', says: expect.stringMatching(/containers of the toolbox/) as string })
})

test('the chain that leads to the rules and the firewall of the engine are shown', () => {
  const says = (dockerUser: boolean, firewallBackend?: string) => {
    const facts: Facts = { ...withEngine({ firewallBackend }), iptables: { status: 'works', dockerUser } }
    return diagnose(facts).checks.find(({ name }) => name === 'isolation of sessions')
  }
  expect(says(true)).toMatchObject({ level: 'ok', says: expect.stringMatching(/called from DOCKER-USER\.$/) as string })
  expect(says(false, 'nftables')?.says).toMatch(/called from FORWARD, .* Docker's own firewall: nftables\.$/)
})

test('the enforcement of GPU shares is shown', () => {
  const saysOf = (limitsMemory: boolean) => {
    const facts = { ...withGpus('listed', [A, B]), nvidia: { ...gpus, limitsMemory } }
    return diagnose(facts).checks.find(({ name }) => name === 'GPU')?.says
  }
  expect(saysOf(false)).toContain('is not limited')
  expect(saysOf(true)).toContain('The agent tests')
})

test('a wrong reverse proxy is reported with the headers of each program and the setting', () => {
  const fault = { code: 'silent', peer: '10.0.0.9', firstSeen: 'A', lastSeen: 'B' } as const
  const text = describeDiagnosis(diagnose({ ...HEALTHY, proxyFaults: [fault] }))
  for (const part of ['proxy_set_header X-Forwarded-Proto', 'option forwardfor', 'Caddy', 'TRUSTED_PROXIES=10.0.0.9']) {
    expect(text).toContain(part)
  }
})

test('the text says below each problem how to fix it', () => {
  const text = describeDiagnosis(diagnose(withEngine({ liveRestore: false })))
  expect(text).toMatch(/warning +live-restore: .*\n +→ Add "live-restore": true/)
  expect(text).toMatch(/see the warnings\.$/)
})

test('a data directory of another user is a problem for everyone but root', () => {
  const data = { ...HEALTHY.data, foreign: true }
  expect(diagnose({ ...HEALTHY, data }).level).toBe('ok')
  expect(diagnose({ ...HEALTHY, data, isRoot: false }).checks).toContainEqual(
    expect.objectContaining({ name: 'data directory', level: 'problem' }),
  )
})

test.each(['manager', 'agent'] as const)('the checks of %s have keys, by which pages translate them', part => {
  for (const check of diagnose(HEALTHY, checksOf(part)).checks) {
    expect(check.nameBy, check.name).toMatch(/^check_/)
    expect(isCauseKey(check.saysBy?.cause ?? ''), check.name).toBe(true)
  }
  const broken = { ...HEALTHY, engine: { status: 'unreachable', why: 'ECONNREFUSED' } } as const
  const found = diagnose(broken, checksOf('agent')).checks.find(({ level }) => level === 'problem')
  expect(found).toMatchObject({
    nameBy: 'check_engine',
    saysBy: { cause: 'engine_silent', values: { text: 'ECONNREFUSED' } },
    mendBy: { cause: 'engine_silent_mend' },
  })
})
