import { type Browser, type Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { AppError, because, toWireError } from '#manager/contract'
import { openConsole, startBrowser } from './console-open.ts'
import { aSession } from './console-world.ts'
import { audit } from '../fixtures/browser.ts'

/** A browser that has not proved to run on Berth's computer: from a click on an app to the command that proves it. */
let browser: Browser
beforeAll(async () => {
  browser = await startBrowser()
})
afterAll(() => browser.close())

const CODE = 'K7QM-2XWD'

/** Answers `/host/*` as a console does to such a browser. The code counts once `confirm` was called. */
async function unproven(page: Page, code: object | null) {
  const state = { confirmed: false, asked: 0, proven: [] as string[] }
  const refusal = toWireError(new AppError('forbidden', { ...because('browser_unproven'), whySaysNext: true }))
  await page.context().route(/\/host\/(host\/info|tunnel\/openApp|local-code|local-proof)$/, async route => {
    const request = route.request()
    const path = new URL(request.url()).pathname
    const proof = request.headers()['x-berth-local']
    const ok = (value: unknown) => route.fulfill({ json: { ok: true, value } })
    const info = { version: '1', platform: 'linux' }
    if (path.endsWith('info'))
      return ok(proof ? { kind: 'local', ...info } : { kind: 'remote', isUnproven: true, ...info })
    if (path.endsWith('local-code')) {
      state.asked++
      return ok(code)
    }
    if (path.endsWith('local-proof')) return ok(state.confirmed ? 'the-proof' : null)
    if (proof) state.proven.push(proof)
    return route.fulfill({ json: { ok: false, error: refusal } })
  })
  return state
}

test.each([
  {
    language: 'en',
    names: { terms: 'Apps', command: 'berth local K7QM-2XWD --port 8410', button: 'This computer', copy: /^Copy/ },
    waiting: 'Waiting for the command',
    proved: 'This browser may open apps on this computer now',
  },
  {
    language: 'ko',
    names: { terms: '앱', command: 'berth local K7QM-2XWD --port 8410', button: '이 컴퓨터', copy: /복사/ },
    waiting: '명령을 기다리는 중입니다',
    proved: '이제 이 브라우저에서 앱을 열 수 있습니다',
  },
])('two clicks lead from the refusal to the command, and the page goes on by itself ($language)', async one => {
  const session = aSession(1, { name: 'wave' })
  await using it = await openConsole(browser, '/sessions', { sessions: [session] })
  const { page } = it
  const state = await unproven(page, { code: CODE, validSeconds: 300, port: 8410 })
  await page.evaluate(language => localStorage.setItem('berth.language', language), one.language)
  await it.openAnew(`/sessions?dialog=apps&of=${session.id}`)
  await page
    .getByRole('button', { name: /JupyterLab/ })
    .last()
    .click()
  await page.getByRole('button', { name: one.names.button, exact: true }).click()
  const dialog = page.getByRole('dialog').last()
  await dialog.getByText(one.names.command, { exact: true }).waitFor()
  await dialog.getByText(one.waiting).waitFor()
  expect(state.asked).toBe(1)
  expect(await audit(page)).toEqual([])
  state.confirmed = true
  await page.getByText(one.proved).waitFor()
  await page
    .getByRole('button', { name: /JupyterLab/ })
    .last()
    .click()
  await expect.poll(() => state.proven).toEqual(['the-proof'])
})

test('a console without the command names the link of the person who runs it', async () => {
  const session = aSession(1, { name: 'wave' })
  await using it = await openConsole(browser, '/sessions', { sessions: [session] })
  await unproven(it.page, null)
  await it.page.goto(`${it.double.url}/#/sessions?dialog=apps&of=${session.id}`)
  await it.page
    .getByRole('button', { name: /JupyterLab/ })
    .last()
    .click()
  await it.page.getByRole('button', { name: 'This computer', exact: true }).click()
  await it.page.getByText('The person who runs Berth can give you a link').waitFor()
})
