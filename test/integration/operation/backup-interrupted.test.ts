import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { silentLog } from '../../../manager/log.ts'
import { openStore } from '../../../manager/store/open-store.ts'
import { root } from '../../fixtures/berth.ts'
import { temporaryDirectory } from '../../fixtures/manager.ts'

/** Enough rows that saving them takes a while. */
const ROWS = 100_000
const STEP = 10_000

test('Ctrl-C during a backup of a stopped Berth leaves no file and no running database', async () => {
  await using stack = new AsyncDisposableStack()
  const { path: data } = stack.use(await temporaryDirectory())
  const { path: place } = stack.use(await temporaryDirectory())
  {
    await using store = await openStore({ dataDir: data, log: silentLog })
    // A few at a time, because the manager's statements have a time limit.
    for (let rows = 0; rows < ROWS; rows += STEP)
      await sql`insert into audit_log (action, result) select 'login', 'ok' from generate_series(1, ${STEP}::int)`.execute(
        store.db,
      )
  }
  const pidFile = join(data, 'db/cluster/postmaster.pid')
  const isRunning = () => readFile(pidFile).then(Boolean, () => false)
  expect(await isRunning()).toBe(false)

  // A process group of its own, to which a terminal would send the signal.
  const args = [join(root, 'cli/main.ts'), 'backup', join(place, 'berth.backup'), '--data', data]
  const berth = spawn(process.execPath, args, { detached: true, stdio: ['ignore', 'ignore', 'inherit'] })
  const ended = once(berth, 'close')
  await expect.poll(() => readdir(place), { interval: 10 }).toHaveLength(1)
  process.kill(-(berth.pid ?? 0), 'SIGINT')
  expect(await ended).toEqual([130, null])
  expect(await readdir(place)).toEqual([])
  expect(await isRunning()).toBe(false)
})
