import { readFile } from 'node:fs/promises'
import { buffer } from 'node:stream/consumers'
import { Readable } from 'node:stream'
import { join } from 'node:path'
import { createGunzip } from 'node:zlib'
import { extract } from 'tar-stream'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { AppError, type AgentId } from '#manager/contract'
import { createDiagnostics } from '../../../manager/diagnostics/diagnostics.ts'
import { silentLog } from '../../../manager/log.ts'
import { createCli } from '../../fixtures/cli.ts'
import { temporaryDirectory } from '../../fixtures/manager.ts'
import { refusal, type SessionsCluster, startSessionsCluster } from '../../fixtures/sessions-cluster.ts'

let cluster: SessionsCluster
beforeAll(async () => {
  cluster = await startSessionsCluster()
})
afterAll(() => cluster[Symbol.asyncDispose]())

const PEM = '-----BEGIN PRIVATE KEY-----\\nMC4CAQAwBQYDK2VwBCIEIA\\n-----END PRIVATE KEY-----'
/** The log lines below contain one secret of each kind. No file of the bundle may contain these parts. */
const PLANTED = {
  token: 'berth_aB3dEfGhIjKlMnOpQrStUvWxYz01234567',
  password: 'hunter2-of-a-user',
  smtp: 'Mail server says hello',
  databaseUrl: 's3cr3t-of-the-database',
  cookie: 'cookie-of-a-browser',
  clientSecret: 'client-secret-of-a-provider',
  key: 'MC4CAQAwBQYDK2VwBCIEIA',
  address: 'mira@example.com',
}
const LOG = [
  JSON.stringify({ level: 30, msg: `sign-in with ${PLANTED.token}`, password: PLANTED.password }),
  JSON.stringify({ level: 50, err: { message: `postgresql://berth:${PLANTED.databaseUrl}@db/berth refused` } }),
  JSON.stringify({ headers: { cookie: PLANTED.cookie }, provider: { clientSecret: PLANTED.clientSecret } }),
  `not JSON: ${PEM} ${PLANTED.address} smtp said "${PLANTED.smtp}"`,
]

async function unpack(bundle: Buffer): Promise<Map<string, string>> {
  const files = new Map<string, string>()
  const archive = Readable.from([bundle]).pipe(createGunzip()).pipe(extract())
  for await (const entry of archive) files.set(entry.header.name, (await buffer(entry)).toString('utf8'))
  return files
}

test('the bundle has what a helper needs and none of the secrets that were planted, by the command line', async () => {
  await cluster.api.updateSettings({
    body: { smtpHost: 'mail.example.org', smtpUser: 'berth', smtpFrom: PLANTED.address, smtpPassword: PLANTED.smtp },
  })
  const agent = await cluster.join()
  agent.script.diagnose = () => ({
    diagnosis: { level: 'warning', checks: [{ name: 'GPU', level: 'warning', says: PLANTED.token, mend: 'Look.' }] },
    log: LOG,
  })
  await using cli = await createCli()
  await using folder = await temporaryDirectory()
  await cli.signIn(cluster.url)
  const file = join(folder.path, 'bundle.tar.gz')
  expect(await cli.run(['admin', 'diagnostics', '--out', file])).toMatchObject({ code: 0 })
  const files = await unpack(await readFile(file))
  for (const name of ['versions', 'settings', 'managers', 'agents', 'queue', 'migrations'])
    expect(files.get(`berth-diagnostics/${name}.json`), name).not.toContain('"error"')
  const [manager] = (await cluster.api.listManagers()).items
  expect(files.get(`berth-diagnostics/managers/${manager?.id}/doctor.json`)).toContain('Node')
  expect(files.get(`berth-diagnostics/agents/${agent.id}/doctor.json`)).toContain('Look.')
  expect(files.get(`berth-diagnostics/agents/${agent.id}/log.jsonl`)?.split('\n')).toHaveLength(LOG.length + 1)
  const all = [...files.values()].join('\n')
  for (const secret of Object.values(PLANTED)) expect(all).not.toContain(secret)

  const { code, out, err } = await cli.run(['admin', 'diagnostics'])
  expect({ code, out, err }).toMatchObject({ code: 0, err: '' })
  expect(out).toMatch(/^manager http:\/\/127\.0\.0\.1:\d+\nok +Node/)
  expect(out).toContain('→ Look.')
})

test('an agent that hangs is given up after its time, and the others are in the bundle', async () => {
  const [hangs, answers] = ['0198a1b2-0000-7000-8000-000000000001', '0198a1b2-0000-7000-8000-000000000002']
  const agentOf = (id: string) => ({ id: id as AgentId, status: 'CONNECTED' }) as never
  const diagnostics = createDiagnostics({
    agents: {
      request: (id, _name, _input, { timeoutMs }) =>
        id === hangs
          ? new Promise((_, fail) =>
              setTimeout(() => fail(new AppError('agent_unreachable', { agentId: id })), timeoutMs),
            )
          : Promise.resolve({ diagnosis: { level: 'ok', checks: [] }, log: [] } as never),
    },
    listAgents: () => Promise.resolve([agentOf(hangs), agentOf(answers)]),
    getAgent: id => Promise.resolve(agentOf(id)),
    processId: 'this',
    listManagers: () => Promise.resolve([{ id: 'this' }, { id: 'other' }, { id: 'gone' }]),
    doctor: () => Promise.resolve({ level: 'ok', checks: [] }),
    others: {
      ask: id =>
        id === 'gone'
          ? Promise.reject(new AppError('unavailable'))
          : Promise.resolve({ diagnosis: { level: 'problem', checks: [] }, log: LOG }),
    },
    facts: { 'broken.json': () => Promise.reject(new Error('away')) },
    logLines: () => LOG,
    secrets: () => Promise.resolve([PLANTED.smtp]),
    log: silentLog,
    agentMs: 200,
  })
  const bundle = await diagnostics.bundle({ addresses: 'keep' }, new AbortController().signal)
  const files = await unpack(await buffer(bundle))
  expect(files.get(`berth-diagnostics/agents/${hangs}/doctor.json`)).toContain('agent_unreachable')
  expect(files.get(`berth-diagnostics/agents/${answers}/doctor.json`)).toContain('"ok"')
  expect(files.get('berth-diagnostics/broken.json')).toContain('"error"')
  expect(files.get('berth-diagnostics/managers/gone/doctor.json')).toContain('unavailable')
  expect(files.get('berth-diagnostics/managers/other/doctor.json')).toContain('problem')
  for (const id of ['this', 'other']) {
    const log = files.get(`berth-diagnostics/managers/${id}/log.jsonl`)
    expect(log).toContain(PLANTED.address)
    expect(log).not.toContain(PLANTED.clientSecret)
  }
})

test('an agent that is away is refused at once, and one that nobody knows is not found', async () => {
  const agent = await cluster.join()
  await agent[Symbol.asyncDispose]()
  await expect
    .poll(async () => (await refusal(cluster.api.diagnoseAgent({ params: { id: agent.id } }))).code)
    .toBe('agent_unreachable')
  const id = '0198a1b2-0000-7000-8000-000000000001' as AgentId
  expect((await refusal(cluster.api.diagnoseAgent({ params: { id } }))).code).toBe('agent_not_found')
})
