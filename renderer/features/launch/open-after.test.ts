import { expect, test } from 'vitest'
import { type Image } from '#manager/contract'
import { defaultForm, type LaunchForm } from './launch-form.ts'
import { appsToOpen, appToOpen } from './open-after.ts'

const IMAGE: Pick<Image, 'apps'> = {
  apps: [
    { name: 'jupyterlab', title: 'JupyterLab', protocol: 'http', path: '/lab' },
    { name: 'terminal', title: 'Shell', protocol: 'http', path: '/' },
    { name: 'vnc', title: 'VNC', protocol: 'tcp', path: '/' },
  ],
}
const form = (change: Partial<LaunchForm>): LaunchForm => ({ ...defaultForm(undefined, {}), ...change })

test('pages and the terminal of Berth can be opened, ports cannot; the terminal also without an image', () => {
  expect(appsToOpen(IMAGE).map(({ name, title }) => [name, title])).toEqual([
    ['jupyterlab', 'JupyterLab'],
    ['terminal', 'Terminal'],
  ])
  expect(appsToOpen(undefined).map(({ name }) => name)).toEqual(['terminal'])
})

test.each([
  [{ opens: 'jupyterlab' }, 'jupyterlab'],
  [{ opens: 'terminal' }, 'terminal'],
  [{ opens: '' }, ''],
  [{ opens: 'vnc' }, ''],
  [{ opens: 'rstudio' }, ''],
  [{ opens: 'jupyterlab', count: 2 }, ''],
  [{ opens: 'jupyterlab', kind: 'batch' }, ''],
  [{ opens: 'jupyterlab', startsAt: '2030-01-01T10:00' }, ''],
  [{ opens: 'jupyterlab', owner: 'jonas@example.com' }, ''],
] as const)('the form %j opens "%s"', (change, opened) => {
  expect(appToOpen(form(change), IMAGE)).toBe(opened)
})
