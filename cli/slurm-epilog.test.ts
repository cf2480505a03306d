import { execFile } from 'node:child_process'
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { SLURM_EPILOG } from './slurm-epilog.ts'

let directory: string
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'berth-epilog-'))
  await writeFile(join(directory, 'epilog'), SLURM_EPILOG)
})
afterEach(() => rm(directory, { recursive: true }))

/** A stand-in for Docker: its containers are lines of a file, and its calls are written down. */
async function docker(containers: string, stop: string): Promise<void> {
  await writeFile(join(directory, 'containers'), containers)
  const script = `#!/bin/sh\ncd ${directory}\necho "$*" >> calls\ncase $1 in ps) cat containers;; stop) ${stop};; esac\n`
  await writeFile(join(directory, 'docker'), script)
  await chmod(join(directory, 'docker'), 0o755)
}
/** @returns the exit code */
const epilog = (more: NodeJS.ProcessEnv = {}) =>
  promisify(execFile)('/bin/sh', [join(directory, 'epilog')], {
    env: { PATH: directory, SLURM_JOB_ID: '21', SLURM_JOB_START_TIME: '110', BERTH_EPILOG_WAIT: '0', ...more },
  }).then(
    () => 0,
    (error: unknown) => (error as { code?: number }).code,
  )
const calls = async () => (await readFile(join(directory, 'calls'), 'utf8')).trim().split('\n')
const LIST = 'ps --quiet --filter label=berth.slurm-job=21'

test('containers of the job are stopped, and the script ends when they are gone', async () => {
  await docker('c1\nc2\n', ': > containers')
  expect(await epilog()).toBe(0)
  const list = `${LIST} --filter label=berth.slurm-start=110`
  expect(await calls()).toEqual([list, 'stop --time 10 c1 c2', list])
})

test('a Slurm that does not tell the start of the job goes by its number', async () => {
  await docker('', '')
  expect(await epilog({ SLURM_JOB_START_TIME: undefined })).toBe(0)
  expect(await calls()).toEqual([LIST])
})

test('a session that Berth ends by itself meanwhile keeps its own reason', async () => {
  await docker('c1\n', '')
  await writeFile(
    join(directory, 'docker'),
    `#!/bin/sh\ncd ${directory}\ncat containers; : > containers; echo "$1" >> calls\n`,
  )
  expect(await epilog({ BERTH_EPILOG_WAIT: '5' })).toBe(0)
  expect(await calls()).toEqual(['ps', 'ps'])
})

test('containers that stay, and a Docker that does not answer, are failures: Slurm then drains the node', async () => {
  await docker('c1\n', ':')
  expect(await epilog()).not.toBe(0)
  await writeFile(join(directory, 'docker'), '#!/bin/sh\nexit 1\n')
  expect(await epilog()).not.toBe(0)
})
