import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createSmi, type Execute } from './run-smi.ts'

const execute = promisify(execFile)
let directory: string
let program: string
const { signal } = new AbortController()

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'berth-test-smi-'))
  program = join(directory, 'nvidia-smi')
})
afterEach(async () => {
  await rm(directory, { recursive: true })
})
const says = (script: string) => writeFile(program, `#!/bin/sh\n${script}\n`, { mode: 0o755 })

test('output comes also from a program that fails, with its last line as the reason', async () => {
  await says('echo row; echo first >&2; echo "GPU is lost" >&2; exit 15')
  const { text, failure, isMissing } = await createSmi(program)(signal)
  expect([text, isMissing]).toEqual(['row\n', false])
  expect(failure?.why).toContain('GPU is lost')
  expect((await createSmi('/nonexistent/nvidia-smi')(signal)).isMissing).toBe(true)
})

test('a program that is silent is killed, and the next run tries again', async () => {
  await says('exec sleep 60')
  let isPatient = false
  const start: Execute = (file, args, options) =>
    execute(file, args, { ...options, timeout: isPatient ? 0 : options.timeout })
  const run = createSmi(program, { timeoutMs: 200, graceMs: 60_000, run: start })
  expect((await run(signal)).failure?.why).toContain('0.2')
  await says('echo row')
  isPatient = true // on a busy machine it may take longer to answer
  expect((await run(signal)).text).toBe('row\n')
})

test('a program that cannot be killed is left behind, and no second one is started beside it', async () => {
  // Nothing but a lost GPU makes a process that SIGKILL does not end, so the start of the process is a stand-in.
  const stuck = Promise.withResolvers<{ stdout: string }>()
  const start = vi.fn<Execute>(() => Promise.resolve({ stdout: 'row' }))
  start.mockReturnValueOnce(stuck.promise)
  const run = createSmi('nvidia-smi', { timeoutMs: 20, graceMs: 10, run: start })
  expect((await run(signal)).failure).toMatchObject({ cause: 'nvidia_smi_silent' })
  expect((await run(signal)).failure).toMatchObject({ cause: 'nvidia_smi_silent' })
  expect(start).toHaveBeenCalledOnce()
  stuck.reject(new Error('the GPU was reset'))
  await expect.poll(async () => (await run(signal)).text).toBe('row')
})
