import { expect, test } from 'vitest'
import { type EngineClient } from '../docker/engine-client.ts'
import { checkGpus } from './check-gpus.ts'

const A = 'GPU-5f1c0b0a-6f41-4c4f-9a51-6f2f8d0f0a11'
const B = 'GPU-b2a3c7a4-93a7-8a0a-3b42-9d2c4d1a7e02'
const MIG = 'MIG-c6d4f1ef-42e4-5de3-91c7-45d71c87eb3f'
const line = (uuid: string) => `GPU 0: Tesla T4 (UUID: ${uuid})`
const ONE_INSTANCE = `${line(B)}\n  MIG 3g.20gb     Device  0: (UUID: ${MIG})`

/** FAKE of an engine with a container in which nvidia-smi prints this. */
function engineThatPrints(text: string, ExitCode: number, asked: object[] = []): EngineClient {
  const body = Buffer.from(text)
  const header = Buffer.alloc(8)
  header.writeUInt8(1, 0)
  header.writeUInt32BE(body.length, 4)
  const exec = {
    start: () => Promise.resolve([Buffer.concat([header, body])]),
    inspect: () => Promise.resolve({ ExitCode }),
  }
  const container = {
    exec(options: object) {
      asked.push(options)
      return Promise.resolve(exec)
    },
  }
  return { calls: { getContainer: () => container } } as unknown as EngineClient
}

const check = (asked: string[], text: string, { exitCode = 0, ended = false } = {}) =>
  checkGpus(engineThatPrints(text, exitCode), {
    container: { id: 'c', user: '1:1' },
    uuids: asked,
    hasEnded: () => Promise.resolve(ended),
  })

test.each<[string, string[], string]>([
  ['a GPU', [A], line(A)],
  ['several GPUs', [A, B], `${line(B)}\n${line(A)}`],
  ['an instance below its GPU', [MIG], ONE_INSTANCE],
])('%s that was asked for passes', async (_, asked, text) => {
  await expect(check(asked, text)).resolves.toBeUndefined()
})

test.each<[string, string[], string, number, string]>([
  ['another GPU', [A], line(B), 0, 'gpu_index_moved'],
  ['a GPU too many', [A], `${line(A)}\n${line(B)}`, 0, 'gpu_index_moved'],
  ['a GPU too few', [A, B], line(A), 0, 'gpu_index_moved'],
  ['no GPU', [A], '', 0, 'gpu_index_moved'],
  ['another instance', [MIG], ONE_INSTANCE.replace(MIG, MIG.replace('c6', 'd7')), 0, 'gpu_index_moved'],
  ['no nvidia-smi', [A], "timeout: can't execute 'nvidia-smi'", 127, 'gpu_not_checked'],
])('%s fails', async (_, asked, text, exitCode, cause) => {
  await expect(check(asked, text, { exitCode })).rejects.toMatchObject({
    code: 'kernel_create_failed',
    detail: { cause },
  })
})

test('a session that has ended by itself uses no GPU', async () => {
  await expect(check([A], '', { exitCode: 1, ended: true })).resolves.toBeUndefined()
})

test('nothing of the environment that the image or the user chose reaches nvidia-smi', async () => {
  const asked: object[] = []
  const container = { id: 'c', user: '1:1' }
  await checkGpus(engineThatPrints(line(A), 0, asked), {
    container,
    uuids: [A],
    hasEnded: () => Promise.resolve(false),
  })
  // The engine adds `Env` to the environment of the container: LD_PRELOAD would stay. BusyBox is static, so it loads nothing.
  const [{ Cmd }] = asked as [{ Cmd: string[] }]
  expect(Cmd.slice(0, 3)).toEqual(['/opt/berth/bin/busybox', 'env', '-i'])
})
