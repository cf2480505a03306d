import { afterEach, expect, test, vi } from 'vitest'
import { type RequestInput } from '#agent/contract'
import {
  AppError,
  type CommandEnd,
  type CommandStream,
  KernelId,
  KEPT_OUTPUT_BYTES,
  SessionId,
  UserId,
} from '#manager/contract'
import { createCommands, MOST_OF_PERSON } from './commands.ts'
import { type RunningCommand } from './running-command.ts'

const uuid = (number: number) => `01900000-0000-7000-8000-${String(number).padStart(12, '0')}`
const sessionId = SessionId.parse(uuid(1))
const kernelId = KernelId.parse(uuid(2))
const userId = UserId.parse(uuid(3))
afterEach(() => vi.useRealTimers())

/** Commands that a test writes for and ends. */
function world() {
  const live: { write: (text: string, stream?: CommandStream) => void; end: (end: CommandEnd) => void }[] = []
  let time = 0
  let fault: Error | undefined
  const commands = createCommands({
    kernels: {
      find: id => (id === kernelId ? ({ kernelId, sessionId, containerId: 'c', user: '1:1' } as never) : undefined),
    },
    docker: {} as never,
    log: { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined },
    now: () => time,
    requireRoom: () => {
      if (fault) throw fault
    },
    run: (_place, _input, onOutput) => {
      if (fault) return Promise.reject(fault)
      const { promise, resolve } = Promise.withResolvers<CommandEnd>()
      live.push({
        write: (text, stream = 'stdout') => onOutput(stream, Buffer.from(text)),
        end: resolve,
      })
      const nothing = () => undefined
      const running: RunningCommand = {
        ended: promise,
        write: (_bytes, done) => done(),
        kill: reason => resolve({ reason, exitCode: null }),
        ...{ endInput: nothing, signal: nothing, pause: nothing, resume: nothing },
      }
      return Promise.resolve(running)
    },
  })
  return { commands, live, pass: (ms: number) => (time += ms), fail: (error: Error) => (fault = error) }
}

let made = 100
const input = (more: Partial<RequestInput<'start_command'>> = {}): RequestInput<'start_command'> => ({
  ...{ kernelId, userId, commandId: uuid(++made), command: ['true'], environ: {}, workingDirectory: null, stdin: '' },
  ...{ timeoutMs: null, attached: false },
  ...more,
})
const never = new AbortController().signal

test('a repeated start is one command, which is found only with its session', async () => {
  const { commands, live } = world()
  const asked = input()
  const started = await commands.start(asked)
  expect(await commands.start(asked)).toMatchObject({ id: started.id, end: null })
  expect(live).toHaveLength(1)
  const elsewhere = { sessionId: SessionId.parse(uuid(9)), commandId: started.id, waitMs: 0 }
  await expect(commands.get(elsewhere, never)).rejects.toMatchObject({ code: 'command_not_found' })
  live[0]?.end({ reason: 'exited', exitCode: 0 })
  await commands[Symbol.asyncDispose]()
})

test('a wait ends with the end, or as soon as there is more than the reader has', async () => {
  const { commands, live } = world()
  const { id: commandId } = await commands.start(input())
  const more = commands.get({ sessionId, commandId, waitMs: 60_000, past: { stream: 'stdout', bytes: 0 } }, never)
  live[0]?.write('some')
  expect(await more).toMatchObject({ stdoutBytes: 4, end: null })
  const end = commands.get({ sessionId, commandId, waitMs: 60_000 }, never)
  live[0]?.end({ reason: 'exited', exitCode: 3 })
  expect((await end).end).toEqual({ reason: 'exited', exitCode: 3 })
  const read = commands.read({ sessionId, commandId, stream: 'stdout', offset: 1 })
  expect(read).toEqual({ offset: 1, bytes: Buffer.from('ome').toString('base64'), total: 4, ended: true })
  await commands[Symbol.asyncDispose]()
})

test('a person runs so many at once, and what has ended is kept in bounds and for a time', async () => {
  const { commands, live, pass } = world()
  for (let count = 0; count < MOST_OF_PERSON; count++) await commands.start(input())
  await expect(commands.start(input())).rejects.toMatchObject({ code: 'commands_at_most' })
  const other = UserId.parse(uuid(4))
  await commands.start(input({ userId: other }))
  for (const one of live) {
    one.write('x'.repeat(KEPT_OUTPUT_BYTES))
    one.write('x'.repeat(KEPT_OUTPUT_BYTES), 'stderr')
    one.end({ reason: 'exited', exitCode: 0 })
  }
  await vi.waitFor(() => expect(commands.list({}).commands.every(({ end }) => end !== null)).toBe(true))
  // 16 MiB of 32 of the one person; the other one has hers.
  expect(commands.list({ userId }).commands).toHaveLength(8)
  expect(commands.list({ userId: other }).commands).toHaveLength(1)
  pass(11 * 60_000)
  expect(commands.list({}).commands).toEqual([])
  await commands[Symbol.asyncDispose]()
})

test.each([
  ['a session in which too many programs wait', new AppError('commands_at_most'), 'commands_at_most'],
  ['an engine that is away', Object.assign(new Error('connect'), { code: 'ECONNREFUSED' }), 'engine_unreachable'],
])('a command in %s is refused with a code', async (_what, error, code) => {
  const { commands, fail } = world()
  fail(error)
  await expect(commands.start(input())).rejects.toMatchObject({ code })
})

test('an attached command is refused at once where too many programs wait', async () => {
  const { commands, fail } = world()
  fail(new AppError('commands_at_most'))
  await expect(commands.start(input({ attached: true }))).rejects.toMatchObject({ code: 'commands_at_most' })
  expect(commands.list({ sessionId })).toEqual({ commands: [] })
})

test('an attached command has one stream, which it waits for', async () => {
  const { commands, live } = world()
  const { id: commandId } = await commands.start(input({ attached: true }))
  expect(live).toHaveLength(0)
  expect(() => commands.attach(uuid(9), commandId)).toThrow()
  const stream = commands.attach(sessionId, commandId)
  expect(() => commands.attach(sessionId, commandId)).toThrow()
  await vi.waitFor(() => expect(live).toHaveLength(1))
  // A stream that breaks kills the command.
  stream.destroy()
  const { end } = await commands.get({ sessionId, commandId, waitMs: 60_000 }, never)
  expect(end).toEqual({ reason: 'killed', exitCode: null })
  await commands[Symbol.asyncDispose]()
})

test('a command is killed at its time limit, and every command at the end', async () => {
  vi.useFakeTimers()
  const { commands } = world()
  const limited = await commands.start(input({ timeoutMs: 1_000 }))
  const unlimited = await commands.start(input())
  await vi.advanceTimersByTimeAsync(1_001)
  const reasonOf = async (commandId: string) =>
    (await commands.get({ sessionId, commandId, waitMs: 0 }, never)).end?.reason
  expect(await reasonOf(limited.id)).toBe('time_limit')
  expect(await reasonOf(unlimited.id)).toBeUndefined()
  await commands[Symbol.asyncDispose]()
  expect(await reasonOf(unlimited.id)).toBe('killed')
})
