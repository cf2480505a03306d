import { type Page } from 'playwright-core'
import { type World } from './console-double-world.ts'
import { aFolder, filesOf, FOLDER_ID } from './console-double-files.ts'
import { button, type Scene } from './scene.ts'

const HOME = `/data/${FOLDER_ID}`
const FILES = {
  'checkpoints/epoch-01.pt': 'x'.repeat(4096),
  'data/train.csv': 'a,b\n1,2\n',
  'data/validation.csv': 'a,b\n1,2\n',
  'notebooks/evaluation.ipynb': '{}',
  'a name that is much longer than there is room for in a list of files on a telephone or in a narrow window.txt': '1',
  'config.yaml': 'epochs: 30\n',
  'loss.png': 'x'.repeat(51_200),
  'notes.md': '# Notes\n',
  'train.py': 'print("hello")\n',
}
const world = (change: Partial<World> = {}): Partial<World> => ({
  folders: [aFolder()],
  files: filesOf(FILES),
  ...change,
})
const row = (page: Page, name: string) => page.locator('.entry', { has: page.getByRole('link', { name, exact: true }) })

/** States of the file explorer. */
export const FILE_SCENES: readonly Scene[] = [
  { name: 'files', world: world(), path: HOME, act: page => row(page, 'train.py').waitFor() },
  {
    name: 'files-selected',
    world: world(),
    path: `${HOME}?sort=-size`,
    async act(page) {
      await row(page, 'notes.md').click()
      await row(page, 'train.py').click({ modifiers: ['Control'] })
    },
  },
  {
    name: 'files-menu',
    world: world(),
    path: HOME,
    async act(page) {
      await row(page, 'config.yaml').click({ button: 'right' })
      await page.getByText('Copy path in sessions').waitFor()
    },
  },
  {
    name: 'files-empty',
    alike: true,
    world: world({ files: filesOf({ 'empty/': '' }) }),
    path: `${HOME}/empty`,
    act: page => page.getByText('This directory is empty').waitFor(),
  },
  {
    name: 'files-read-only-deep',
    world: world({
      folders: [aFolder({ permission: 'ro' })],
      files: filesOf({ 'experiments/2026/march/baseline with a long name/run-01/metrics.json': '{}' }),
    }),
    path: `${HOME}/experiments/2026/march/baseline%20with%20a%20long%20name/run-01`,
    act: page => row(page, 'metrics.json').waitFor(),
  },
  {
    name: 'files-failed',
    alike: true,
    world: world({ failures: new Map([[`GET /api/v1/folders/${FOLDER_ID}/entries`, { code: 'storage_away' }]]) }),
    path: HOME,
    act: page => button(page, 'Try again').waitFor(),
  },
  {
    name: 'files-conflict',
    world: world({ files: filesOf({ 'a/x.txt': '1', 'a/y.txt': '1', 'x.txt': '2', 'y.txt': '2' }) }),
    path: HOME,
    async act(page) {
      await row(page, 'x.txt').click()
      await row(page, 'y.txt').click({ modifiers: ['Control'] })
      await page.keyboard.press('Control+x')
      await row(page, 'a').getByRole('link').click()
      await page.getByRole('link', { name: 'experiments' }).waitFor()
      await row(page, 'x.txt').waitFor()
      await page.getByRole('grid').focus()
      await page.keyboard.press('Control+v')
      await page.getByRole('heading', { name: 'x.txt exists' }).waitFor()
    },
  },
  {
    name: 'files-move',
    alike: true,
    world: world(),
    path: HOME,
    async act(page) {
      await row(page, 'notes.md').click()
      await button(page, 'Move to…').click()
      await page.getByRole('dialog').getByRole('button', { name: 'data', exact: true }).waitFor()
    },
  },
  {
    name: 'files-search',
    world: world(),
    path: `${HOME}?q=e`,
    act: page => page.getByRole('link', { name: 'evaluation.ipynb' }).waitFor(),
  },
  {
    name: 'files-uploads',
    world: { folders: [aFolder()], files: Object.assign(filesOf(FILES), { cuts: 9 }) },
    path: HOME,
    async act(page) {
      await row(page, 'train.py').waitFor()
      const file = (name: string, size: number) => ({ name, mimeType: '', buffer: Buffer.alloc(size, 'x') })
      await page
        .locator('input[data-upload="files"]')
        .setInputFiles([file('photo of the whole laboratory.tif', 3_000_000), file('readme.txt', 10)])
      await page.getByText('No connection.').waitFor()
      await page.getByRole('button', { name: /^Pause photo/ }).click()
      await page.getByText('Paused', { exact: true }).waitFor()
    },
  },
  {
    name: 'files-unfinished',
    world: {
      folders: [aFolder()],
      files: Object.assign(filesOf(FILES), {
        uploads: new Map([
          [
            'u1',
            { path: 'data/images.tar', size: 4_000_000, bytes: Buffer.alloc(1_200_000), metadata: {}, finished: false },
          ],
        ]),
      }),
    },
    path: HOME,
    async act(page) {
      await button(page, 'Continue…').click()
      await page.getByText('Choose the file…').waitFor()
    },
  },
  {
    name: 'files-preview-text',
    world: world(),
    path: `${HOME}?open=train.py`,
    act: page => page.locator('.cm-content').waitFor(),
  },
  {
    name: 'files-preview-table',
    world: world(),
    path: `${HOME}/data?open=train.csv`,
    act: page => page.getByRole('columnheader', { name: 'a', exact: true }).waitFor(),
  },
]
