import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type NetworkInspectInfo } from 'dockerode'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { openControlSocket } from '../up/control-socket.ts'
import { collectFacts } from './collect.ts'
import { hasBridgesHere } from './probe/engine.ts'
import { probeHealth } from './probe/health-command.ts'
import { probeAmd, probeNvidia } from './probe/host.ts'

const FAULT = { code: 'silent', peer: '10.0.0.9', firstSeen: 'A', lastSeen: 'B' } as const
let data: string
const homes = { directory: '/no/such/homes', floorBytes: 7 }
const storages: string[] = []
const health = { command: undefined, timeoutSeconds: undefined }
const metrics = { hosts: [], hasToken: false }
beforeEach(async () => {
  data = await mkdtemp(join(tmpdir(), 'berth-test-'))
  vi.stubEnv('DOCKER_HOST', `unix://${join(data, 'no-engine.sock')}`)
  vi.stubEnv('BERTH_CONFIG_DIR', data)
})
afterEach(async () => {
  vi.unstubAllEnvs()
  await rm(data, { recursive: true, force: true })
})

test('facts are collected without an engine, a database and a running Berth', async () => {
  const facts = await collectFacts({
    homes,
    health,
    storages,
    metrics,
    data: join(data, 'new'),
    port: 0,
    databaseUrl: undefined,
  })
  expect(facts).toMatchObject({
    engine: { status: 'unreachable' },
    data: { exists: false },
    homes: { path: homes.directory, freeBytes: expect.any(Number) as number, floorBytes: 7 },
    database: { kind: 'embedded', version: undefined, readable: true },
    running: undefined,
    secrets: [],
  })
  expect(facts.data.freeBytes).toBeGreaterThan(0)
})

test.skipIf(process.platform !== 'linux')(
  'directories of files of sessions are looked at, with all above them',
  async () => {
    const [open, closed, below] = ['open', 'closed', 'below'].map(name => join(data, name))
    for (const storage of [open, closed, below]) await mkdir(join(storage ?? '', 'folders'), { recursive: true })
    await chmod(data, 0o711)
    await chmod(join(closed ?? '', 'folders'), 0o700)
    await chmod(below ?? '', 0o700)
    const { sessionFiles, kernelLimits } = await collectFacts({
      homes,
      metrics,
      data,
      health,
      storages: [open ?? '', closed ?? '', below ?? '', join(data, 'missing')],
      port: 0,
      databaseUrl: undefined,
    })
    expect(sessionFiles.map(({ path, isOpen }) => [path, isOpen])).toEqual([
      [join(open ?? '', 'folders'), true],
      [join(closed ?? '', 'folders'), false],
      [join(below ?? '', 'folders'), false],
    ])
    expect(kernelLimits?.processes).toBeGreaterThan(0)
  },
)

test('versions and file modes are read from the data directory', async () => {
  await mkdir(join(data, 'db', 'cluster'), { recursive: true, mode: 0o700 })
  await writeFile(join(data, 'db', 'cluster', 'PG_VERSION'), '17\n')
  await writeFile(join(data, 'admin-password'), 'x')
  await chmod(join(data, 'admin-password'), 0o644)
  const facts = await collectFacts({ homes, health, storages, metrics, data, port: 0, databaseUrl: undefined })
  expect(facts.database).toEqual({ kind: 'embedded', version: '17', mode: 0o700, readable: true })
  expect(facts.secrets).toEqual([{ path: join(data, 'admin-password'), mode: 0o644 }])
})

test('a taken port is distinguished from the port of the running Berth', async () => {
  const server = createServer().listen(0, '127.0.0.1')
  await expect.poll(() => server.listening).toBe(true)
  const { port } = server.address() as AddressInfo
  try {
    const before = await collectFacts({ homes, health, storages, metrics, data, port, databaseUrl: undefined })
    expect(before.consolePort).toEqual({ port, status: 'taken' })
    const url = `http://localhost:${port}`
    const running = {
      url,
      signInUrl: url,
      localUrl: 'http://localhost:8400/#/sessions?local=code',
      proxyFaults: [FAULT],
      signInPage: url,
      adminEmail: 'a',
      adminPasswordFile: 'b',
      pid: 7,
    }
    await using _ = await openControlSocket(join(data, 'up.sock'), () => Promise.resolve(running))
    server.on('connection', socket => socket.destroy())
    const after = await collectFacts({ homes, health, storages, metrics, data, port, databaseUrl: undefined })
    expect(after.consolePort).toEqual({ port, status: 'ours' })
    expect(after.running).toEqual({ url, pid: 7 })
    expect([before.proxyFaults, after.proxyFaults]).toEqual([undefined, [FAULT]])
    // This Berth runs with `--port`, so another program at the usual port is no problem.
    const usual = createServer().listen(0, '127.0.0.1')
    await expect.poll(() => usual.listening).toBe(true)
    const asked = (usual.address() as AddressInfo).port
    const elsewhere = await collectFacts({
      homes,
      health,
      storages,
      metrics,
      data,
      port: asked,
      databaseUrl: undefined,
    })
    usual.close()
    expect(elsewhere.consolePort).toEqual({ port, status: 'ours' })
  } finally {
    server.close()
  }
})

test('a database that does not answer is reported without its password', async () => {
  const databaseUrl = 'postgresql://berth:s3cret@127.0.0.1:1/berth'
  const { database } = await collectFacts({ homes, health, storages, metrics, data, port: 0, databaseUrl })
  expect(database).toMatchObject({ kind: 'external', status: 'unreachable' })
  expect(JSON.stringify(database)).not.toContain('s3cret')
})

test('GPUs of AMD are found by the files of their driver', async () => {
  expect(await probeAmd(data)).toEqual({ gpus: 0, canCompute: false })
  await mkdir(join(data, 'sys/bus/pci/drivers/amdgpu/0000:05:00.0'), { recursive: true })
  await mkdir(join(data, 'dev'), { recursive: true })
  await writeFile(join(data, 'sys/bus/pci/drivers/amdgpu/bind'), '')
  await writeFile(join(data, 'dev/kfd'), '')
  expect(await probeAmd(data)).toEqual({ gpus: 1, canCompute: true })
})

test('a failing nvidia-smi is distinguished from a missing one', async () => {
  const program = join(data, 'nvidia-smi')
  expect(await probeNvidia(program)).toEqual({ status: 'absent' })
  await writeFile(program, '#!/bin/sh\necho "Driver/library version mismatch"\nexit 18\n', { mode: 0o755 })
  expect(await probeNvidia(program)).toEqual({ status: 'failing', why: 'Driver/library version mismatch' })
  const gpu = (index: number) => `GPU ${index}: NVIDIA H100 80GB HBM3 (UUID: GPU-${index})`
  const list = `${gpu(0)}\n${gpu(1)}\n  MIG 3g.40gb     Device  0: (UUID: MIG-7)`
  const answers = `case "$1" in -L) echo '${list}' ;; memory-limits) exit 1 ;; *) printf '570.1\\n570.1\\n' ;; esac`
  await writeFile(program, `#!/bin/sh\n${answers}\n`)
  const gpus = [
    expect.objectContaining({ uuid: 'GPU-0', index: '0' }),
    expect.objectContaining({ uuid: 'MIG-7', index: '1:0' }),
  ]
  const works = { status: 'works', driver: '570.1', gpus, hook: false, limitsMemory: false }
  expect(await probeNvidia(program)).toEqual(works)
})

test('an engine is in this network if one of its bridges is in the table of routes, with or without a container', () => {
  const routes = [
    'Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT',
    'eth0\t00000000\t010011AC\t0003\t0\t0\t0\t00000000\t0\t0\t0',
    'docker0\t000011AC\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0',
  ].join('\n')
  const bridge = (Subnet: string) => ({ Driver: 'bridge', IPAM: { Config: [{ Subnet }] } }) as NetworkInspectInfo
  const isHere = (...subnets: string[]) => hasBridgesHere(subnets.map(bridge), routes)
  expect(isHere('172.17.0.0/16')).toBe(true)
  expect(isHere('10.213.0.16/28', 'fd00::/64', '172.17.0.0/16')).toBe(true)
  expect(isHere('172.18.0.0/16')).toBe(false)
  expect(isHere('172.17.0.0/20')).toBe(false)
  // Nothing can be concluded without a bridge, or on a computer without this table.
  expect(isHere()).toBe(true)
  expect(hasBridgesHere([bridge('172.18.0.0/16')], undefined)).toBe(true)
})

test('the health command of the agent is run, and its failure is the end of the output', async () => {
  const program = join(data, 'host-ok')
  await writeFile(program, '#!/bin/sh\necho "$1"; [ "$1" = well ]\n', { mode: 0o755 })
  expect(await probeHealth(JSON.stringify([program, 'well']), undefined)).toEqual({ program, failure: undefined })
  expect(await probeHealth(JSON.stringify([program, 'no disk']), '5')).toEqual({ program, failure: 'no disk' })
  expect((await probeHealth(JSON.stringify([`${program}-gone`]), '5'))?.failure).toContain('ENOENT')
  expect(await probeHealth(undefined, undefined)).toBeUndefined()
  vi.stubEnv('BERTH_ONLY_OF_DOCTOR', 'yes')
  expect(await probeHealth('["/bin/sh", "-c", "[ -z \\"$BERTH_ONLY_OF_DOCTOR\\" ]"]', '5')).toMatchObject({
    failure: undefined,
  })
})
