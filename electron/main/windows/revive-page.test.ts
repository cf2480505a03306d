import { beforeEach, expect, test, vi } from 'vitest'
import { electron, questions, stub, StubContents, StubEvent } from '../../../test/fixtures/electron-stub.ts'
import { reviveAfterCrash } from './revive-page.ts'

const log = { error: vi.fn() }
let clock = 0
let page: StubContents
beforeEach(() => {
  stub.questions.length = 0
  stub.answer = 0
  page = new StubContents()
  reviveAfterCrash(page, { electron, ask: questions.ask, language: () => 'en', log, now: () => clock })
})
const crash = (reason = 'crashed') => page.emit('render-process-gone', new StubEvent(), { reason })

test('a page that crashed is loaded again; one that ended in order is not', () => {
  crash('clean-exit')
  expect(page.reloads).toBe(0)
  crash()
  crash('oom')
  expect(page.reloads).toBe(2)
})

test('a page that keeps crashing is loaded again only when the user wants it', async () => {
  crash()
  crash()
  crash()
  expect(page.reloads).toBe(2)
  await expect.poll(() => page.reloads).toBe(3)
  expect(stub.questions[0]?.message).toContain('crashed several times')
  const quit = vi.spyOn(electron.app, 'quit').mockReturnValue()
  stub.answer = 1
  crash()
  crash()
  crash()
  await expect.poll(() => quit).toHaveBeenCalledOnce()
  expect(page.reloads).toBe(5)
  quit.mockRestore()
})

test('crashes that are far apart do not add up', () => {
  for (let i = 0; i < 5; i++) {
    clock += 61_000
    crash()
  }
  expect(page.reloads).toBe(5)
  expect(stub.questions).toEqual([])
})
