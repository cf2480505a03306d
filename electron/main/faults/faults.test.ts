import { EventEmitter } from 'node:events'
import { mkdir, mkdtemp, readdir, rm, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import { electron, questions, stub, StubContents, StubEvent } from '../../../test/fixtures/electron-stub.ts'
import { readEarlySettings } from '../settings/early-settings.ts'
import { openSettingsFile } from '../settings/settings-file.ts'
import { askUnresponsive } from './ask-unresponsive.ts'
import { createCrashReports } from './crash-reports.ts'
import { listenForUnexpected } from './unexpected.ts'
import { watchGraphics } from './watch-graphics.ts'

const log = { error: vi.fn() }
const language = () => 'en' as const
let clock = 0
const now = () => clock
beforeEach(() => {
  log.error.mockClear()
  stub.questions.length = 0
  stub.answer = 0
  clock = 0
})

async function temporary() {
  const folder = await mkdtemp(path.join(tmpdir(), 'berth-test-faults-'))
  return { folder, [Symbol.asyncDispose]: () => rm(folder, { recursive: true }) }
}

describe('the graphics process', () => {
  const gone = (reason: string, type = 'GPU') =>
    stub.app.emit('child-process-gone', new StubEvent(), { type, reason, exitCode: 1 })

  test('crashes again and again: starting without acceleration is offered, and read before the next start', async () => {
    await using place = await temporary()
    const file = path.join(place.folder, 'desktop.json')
    const settings = await openSettingsFile(file)
    expect(readEarlySettings(file)).toEqual({ graphicsAcceleration: true, crashReports: false })
    stub.app.removeAllListeners('child-process-gone')
    watchGraphics({ electron, ask: questions.ask, settings, language, log, now })
    gone('crashed')
    clock += 11 * 60_000
    gone('crashed')
    gone('clean-exit')
    gone('crashed', 'Utility')
    gone('crashed')
    expect(stub.questions).toEqual([])
    gone('oom')
    await expect.poll(() => settings.current.graphicsAcceleration).toBe(false)
    expect(stub.questions).toMatchObject([{ buttons: ['Start without acceleration', 'Cancel'] }])
    await settings.saved()
    expect(readEarlySettings(file).graphicsAcceleration).toBe(false)
    for (let i = 0; i < 5; i++) gone('crashed')
    expect(stub.questions).toHaveLength(1)
    stub.app.removeAllListeners('child-process-gone')
  })
})

describe('a page that does not answer', () => {
  test('is waited for, or ended and with it loaded again, as the user wants; one question at a time', async () => {
    const page = new StubContents()
    askUnresponsive(page, { ask: questions.ask, language, log })
    const ended = vi.fn()
    page.on('render-process-gone', ended)
    page.emit('unresponsive')
    page.emit('unresponsive')
    await expect.poll(() => stub.questions).toMatchObject([{ buttons: ['Wait', 'Load the page again'] }])
    expect(ended).not.toHaveBeenCalled()
    stub.answer = 1
    await new Promise(done => setImmediate(done))
    page.emit('unresponsive')
    await expect.poll(() => ended).toHaveBeenCalledOnce()
  })

  test('that answers again takes its question back', async () => {
    const page = new StubContents()
    askUnresponsive(page, { ask: questions.ask, language, log })
    stub.answer = 1
    const ended = vi.fn()
    page.on('render-process-gone', ended)
    page.emit('unresponsive')
    page.emit('responsive')
    await new Promise(done => setImmediate(done))
    expect(stub.questions[0]?.signal?.aborted).toBe(true)
    expect(ended).not.toHaveBeenCalled()
  })
})

test('a fault that nothing caught is logged each time, and told once an hour', async () => {
  const faults = new EventEmitter()
  const showLogs = vi.fn()
  listenForUnexpected({ process: faults, ask: questions.ask, showLogs, language, log, now })
  faults.emit('uncaughtException', new Error('first'))
  faults.emit('unhandledRejection', new Error('second'))
  await expect.poll(() => showLogs).toHaveBeenCalledOnce()
  expect(stub.questions).toHaveLength(1)
  expect(log.error).toHaveBeenCalledTimes(2)
  clock += 3_600_001
  faults.emit('unhandledRejection', new Error('third'))
  await expect.poll(() => stub.questions).toHaveLength(2)
})

test('of the reports of crashes the ten newest are kept', async () => {
  await using place = await temporary()
  const folder = path.join(place.folder, 'crashes')
  const pending = path.join(folder, 'pending')
  await mkdir(pending, { recursive: true })
  await writeFile(path.join(folder, 'settings.dat'), '')
  for (let i = 1; i <= 12; i++) {
    const file = path.join(pending, `${String(i)}.dmp`)
    await writeFile(file, '')
    await utimes(file, i, i)
  }
  const reports = createCrashReports(electron, folder)
  await reports.tidy()
  expect(new Set(await readdir(pending))).toEqual(
    new Set(Array.from({ length: 10 }, (_, index) => `${String(index + 3)}.dmp`)),
  )
  expect(await readdir(folder)).toContain('settings.dat')
})
