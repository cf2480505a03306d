import { execFile } from 'node:child_process'
import { access, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, expect, test } from 'vitest'

const run = promisify(execFile)
const SCRIPT = await readFile(join(import.meta.dirname, 'add-host.sh'), 'utf8')

let folder: string
beforeEach(async () => (folder = await mkdtemp(join(tmpdir(), 'berth-test-'))))
afterEach(() => rm(folder, { recursive: true, force: true }))

/** Runs the script as if by root, with its paths, and that of systemd, below a folder. */
const runHere = (...flags: string[]) => {
  const here = SCRIPT.replaceAll(
    /(?<![\w.$])\/(?=opt\/berth|var\/lib\/berth|etc\/|usr\/lib\/|run\/systemd)/g,
    `${folder}/`,
  )
  const values = `url=http://127.0.0.1:1 pin= token=x join=x replaces= version=1 machine=$(uname -m) sha256=x\n`
  return run('sh', ['-c', `id() { echo 0; }\ncurl() { return 1; }\n${values}${here}`, 'sh', ...flags])
}

async function place(unit: string): Promise<{ readonly unit: string; readonly settings: string }> {
  const paths = {
    unit: join(folder, 'etc/systemd/system/berth-agent.service'),
    settings: join(folder, 'etc/berth/agent.env'),
  }
  await mkdir(join(folder, 'etc/systemd/system'), { recursive: true })
  await mkdir(join(folder, 'etc/berth'))
  await writeFile(paths.unit, unit)
  await writeFile(paths.settings, 'BERTH_AGENT_NAME=kept\n')
  return paths
}

const isThere = (path: string) =>
  access(path).then(
    () => true,
    () => false,
  )

const isLinux = process.platform === 'linux'

test.runIf(isLinux)('what another agent of this computer has is neither removed nor replaced', async () => {
  const { unit, settings } = await place('ExecStart=/srv/berth/bin/berth agent\n')
  await runHere('--uninstall')
  await expect(runHere('--no-docker-install')).rejects.toThrow('was not made by this script')
  expect(await readFile(unit, 'utf8')).toContain('/srv/berth')
  expect(await isThere(settings)).toBe(true)
})

test.runIf(isLinux)('the service of the script is removed with its settings', async () => {
  const { unit, settings } = await place(`ExecStart=${folder}/opt/berth/current/berth agent\n`)
  await runHere('--uninstall')
  expect([await isThere(unit), await isThere(settings)]).toEqual([false, false])
})
