import { beforeEach, expect, test, vi } from 'vitest'
import { electron, questions, stub } from '../../../test/fixtures/electron-stub.ts'
import { createLeave, type LeaveDeps } from './leave.ts'

const windows = { show: vi.fn(), hide: vi.fn() }
const onUnexpected = vi.fn()
const end = vi.fn(() => Promise.resolve())
const running = vi.fn(() => Promise.resolve({ tunnels: 0, connections: 0, stack: false }))
const work = { uploads: null as number | null, hasEdits: false }
const aLeave = (asks: LeaveDeps['questions'] = questions) =>
  createLeave({
    electron,
    questions: asks,
    language: () => 'en',
    windows,
    running,
    pageWork: () => work,
    end,
    onUnexpected,
    answerWithinMs: 20,
  })

beforeEach(() => {
  vi.clearAllMocks()
  Object.assign(work, { uploads: null, hasEdits: false })
  stub.questions.length = 0
  stub.app.exitCode = undefined
})

test('a connection that cannot say what runs, or does not in time, keeps nobody from quitting', async () => {
  running.mockRejectedValueOnce(new Error('gone'))
  await aLeave().ask()
  expect(stub.app.exitCode).toBe(0)
  expect(onUnexpected).toHaveBeenCalledOnce()
  stub.app.exitCode = undefined
  running.mockReturnValueOnce(new Promise(() => undefined))
  await aLeave().ask()
  expect(stub.app.exitCode).toBe(0)
})

test('after a question that could not be shown the app can still be quit', async () => {
  work.hasEdits = true
  const leave = aLeave()
  const show = vi.spyOn(electron.dialog, 'showMessageBox').mockRejectedValueOnce(new Error('no display'))
  await leave.ask()
  expect(onUnexpected).toHaveBeenCalledOnce()
  expect(stub.app.exitCode).toBeUndefined()
  stub.answer = 1
  await leave.ask()
  expect(stub.app.exitCode).toBe(0)
  show.mockRestore()
})

test('uploads are asked about, also by an item that stops everything without a question', async () => {
  work.uploads = 0.5
  stub.answer = 2
  const leave = aLeave()
  await leave.ask()
  await leave.stopAndQuit()
  expect(stub.questions.map(({ detail }) => detail)).toEqual([
    expect.stringContaining('at 50 %'),
    expect.stringContaining('at 50 %'),
  ])
  expect(windows.show).toHaveBeenCalledTimes(2)
  expect(stub.app.exitCode).toBeUndefined()
  work.uploads = null
  expect(running).toHaveBeenCalledOnce()
  await leave.stopAndQuit()
  expect(stub.questions).toHaveLength(2)
  expect(stub.app.exitCode).toBe(0)
})

test('the end of the computer or of its session asks nothing, also while a question is open', async () => {
  Object.assign(work, { uploads: 0.5, hasEdits: true })
  const leave = aLeave()
  const open = Promise.withResolvers<{ response: number; checkboxChecked: boolean }>()
  const show = vi.spyOn(electron.dialog, 'showMessageBox').mockReturnValueOnce(open.promise)
  const asked = leave.ask()
  await expect.poll(() => show).toHaveBeenCalledOnce()
  await leave.end()
  expect(stub.app.exitCode).toBe(0)
  open.resolve({ response: 1, checkboxChecked: false })
  await asked
  expect(end).toHaveBeenCalledOnce()
  await aLeave().end()
  expect(show).toHaveBeenCalledOnce()
  show.mockRestore()
})

test('a second wish to quit brings the open question to the front', async () => {
  work.hasEdits = true
  const raise = vi.fn()
  const answer = Promise.withResolvers<{ response: number; checkboxChecked: boolean }>()
  const ask = vi.fn(() => answer.promise)
  const leave = aLeave({ ask, raise })
  const first = leave.ask()
  await expect.poll(() => ask).toHaveBeenCalledOnce()
  await leave.ask()
  await leave.stopAndQuit()
  expect([ask.mock.calls.length, raise.mock.calls.length]).toEqual([1, 2])
  answer.resolve({ response: 2, checkboxChecked: false })
  await first
})

test('an end that fails ends the app all the same', async () => {
  end.mockRejectedValueOnce(new Error('disk full'))
  await aLeave().ask()
  expect(stub.app.exitCode).toBe(0)
  expect(onUnexpected).toHaveBeenCalledOnce()
})
