import { fork } from 'node:child_process'
import { once } from 'node:events'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { expect, test } from 'vitest'
import { createCli, MAIN, outcomeOf } from '../../fixtures/cli.ts'
import { cleanEnvironment } from '../../fixtures/environment.ts'
import { temporaryDirectory } from '../../fixtures/manager.ts'
import { startDatabase } from '../../fixtures/postgres.ts'

test('a server that is started alone explains faults of its configuration in words', async () => {
  await using cli = await createCli()
  const manager = await outcomeOf(cli.start(['manager'], { BERTH_PORT: '70000' }))
  expect(manager).toMatchObject({ code: 2, out: '' })
  expect(manager.err).toMatch(/^berth: The configuration is not valid: BERTH_PORT: must be .+ \(config_invalid\)\n$/)
})

test('a server that is started alone does not need BERTH_DATA', async () => {
  await using cli = await createCli()
  expect(await cli.run(['agent', '--join', 'berth-join'])).toEqual({
    code: 2,
    out: '',
    err: 'berth: The configuration is not valid: A join string starts with "berth-join:"; `berth admin agent join-token` makes one. (config_invalid)\n',
  })
})

test('a manager on an external PostgreSQL creates its data directory, and exits with 0 when it is stopped', async () => {
  await using stack = new AsyncDisposableStack()
  const { url } = stack.use(await startDatabase())
  const { path } = stack.use(await temporaryDirectory())
  const cli = stack.use(await createCli())
  const manager = cli.start(['manager'], { BERTH_DATA: join(path, 'new'), DATABASE_URL: url, BERTH_LOG: 'error' })
  const ended = outcomeOf(manager)
  await Promise.race([once(createInterface({ input: manager.stdout }), 'line'), ended])
  manager.kill('SIGTERM')
  const { code, err, out } = await ended
  // A manager that stood still for seconds has lost a transaction, and says so: a fault of the machine, not of its stop.
  const faults = err.split('\n').filter(line => !line.includes('"cause":"database_away"'))
  // The report shortens what it compares, and the log line is what says why.
  expect(faults, err).toEqual([''])
  expect(code).toBe(0)
  expect(out).toContain('"ready":"manager"')
})

test('berth up starts no server, and ends, if the desktop app was killed before it had loaded', async () => {
  await using data = await temporaryDirectory()
  const args = ['up', '--json', '--no-open', '--ticket', '--data', data.path]
  const child = fork(MAIN, args, {
    env: cleanEnvironment(),
    execArgv: [],
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  })
  try {
    child.disconnect()
    expect(await once(child, 'exit')).toEqual([0, null])
    expect(await readdir(join(data.path, 'logs'))).toEqual([])
  } finally {
    child.kill('SIGTERM')
  }
})
