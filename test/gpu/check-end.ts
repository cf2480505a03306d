import { readFile } from 'node:fs/promises'
import { type Check, endAndFree } from './check.ts'
import { SHARE_A, SHARE_B, setMode } from './check-shares.ts'
import { runProgram } from './run-program.ts'
import { saw, Skipped } from './table.ts'

/** Fields by which the driver tells that a GPU is not well; the value that a well GPU has. */
const HEALTH: Readonly<Record<string, RegExp>> = {
  'ecc.errors.uncorrected.volatile.total': /^0$/,
  'ecc.errors.uncorrected.aggregate.total': /^0$/,
  'temperature.gpu': /^\d+$/,
  'clocks_event_reasons.active': /^0x/,
}

/** All is freed, and the GPU is as it was. */
export async function checkEnd(check: Check, begunAt: Date): Promise<void> {
  const { table, driver, gpu, berth, engine } = check
  await table.row('shares ended', 'nothing held, no container, memory free', 60, signal =>
    endAndFree(check, signal, SHARE_A, SHARE_B),
  )
  await table.row('mode whole again', 'whole', 40, signal => setMode(check, signal, 'whole'))
  await table.row(
    'health of the GPU',
    'ECC, temperature and reasons of clocks answered, no error',
    20,
    async signal => {
      const values = await driver.query(signal, ...Object.keys(HEALTH))
      const found = Object.entries(HEALTH).map(([field, well], index) => ({ field, value: values[index] ?? '', well }))
      // Consumer cards have no ECC.
      const isWell = found.every(({ value, well }) => well.test(value) || /N\/A/.test(value))
      return saw(isWell, found.map(({ field, value }) => `${field} ${value}`).join(', '))
    },
  )
  await table.row('GPU as before', `the same UUID, MIG ${gpu.mig}`, 15, async signal => {
    const values = await driver.query(signal, 'uuid', 'mig.mode.current')
    return saw(values.join() === `${gpu.uuid},${gpu.mig}`, values.join(', MIG '))
  })
  await table.row('kernel log', 'no Xid since the start', 15, async signal => {
    const { code, stdout, stderr } = await runProgram('dmesg', ['--time-format', 'iso'], { signal, env: process.env })
    if (code !== 0) throw new Skipped(stderr)
    const lines = stdout.split('\n').filter(line => line.includes('NVRM'))
    table.log(lines.join('\n'))
    const xids = lines.filter(
      line => line.includes('Xid') && new Date(line.split(' ')[0]?.replace(',', '.') ?? '') > begunAt,
    )
    return saw(xids.length === 0, xids[0] ?? `${lines.length} lines of the driver, no Xid`)
  })
  await table.row('Berth ended', 'no process, no container', 40, async signal => {
    await berth.down()
    const containers = await engine.containersOf(berth.managerId() ?? '', signal)
    const postmaster = await readFile(`${berth.data}/db/postmaster.pid`, 'utf8').catch(() => '')
    return saw(containers.length === 0 && postmaster === '', `${containers.length} containers`)
  })
}
