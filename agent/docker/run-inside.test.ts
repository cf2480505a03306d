import { Readable } from 'node:stream'
import { expect, test } from 'vitest'
import { type EngineClient } from './engine-client.ts'
import { runInside } from './run-inside.ts'

const MiB = 2 ** 20

test('the output of a command is kept up to a limit: programs of the session can write to it too', async () => {
  const frame = Buffer.alloc(8 + MiB, 'x')
  frame.set([1, 0, 0, 0])
  frame.writeUInt32BE(MiB, 4)
  const exec = {
    start: () => Promise.resolve(Readable.from(Array.from({ length: 64 }, () => frame))),
    inspect: () => Promise.resolve({ ExitCode: 0 }),
  }
  const engine = { calls: { getContainer: () => ({ exec: () => Promise.resolve(exec) }) } } as unknown as EngineClient
  const ran = await runInside(engine, { containerId: 'c', user: '1000:1000' }, { command: ['true'] })
  expect(ran.exitCode).toBe(0)
  expect(ran.output.length).toBe(4 * MiB)
})
