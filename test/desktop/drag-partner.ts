import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { TRAY_ICON } from '../../electron/main/windows/tray-icon.ts'
import { ELECTRON, type Desktop } from './open-app.ts'

/** Represents the desktop and file managers: another program, from whose window files are dragged, and on which files are dropped. */
export interface DragPartner extends AsyncDisposable {
  /** Middle of its window on the screen. */
  readonly x: number
  readonly y: number
  /** Paths of the files that were dropped on it. */
  readonly dropped: readonly string[]
}

/** @param offers the file that a drag from its window carries @param place left upper corner of its window on the screen */
export async function startDragPartner(
  desktop: Desktop,
  offers: string,
  place: { readonly x: number; readonly y: number },
): Promise<DragPartner> {
  const folder = await mkdtemp(join(tmpdir(), 'berth-test-partner-'))
  const app = join(folder, 'app')
  await mkdir(app)
  await writeFile(join(app, 'package.json'), JSON.stringify({ name: 'partner', version: '1.0.0', main: 'main.cjs' }))
  await writeFile(join(app, 'main.cjs'), program({ ...place, ...SIZE, offers, icon: TRAY_ICON }))
  const root = process.getuid?.() === 0 ? ['--no-sandbox'] : []
  const args = [...root, '--disable-gpu', `--user-data-dir=${join(folder, 'chromium')}`, app]
  const child = spawn(ELECTRON, args, { env: { ...process.env, ...desktop.env }, stdio: ['ignore', 'pipe', 'ignore'] })
  const told = createInterface({ input: child.stdout })
  const failed = once(child, 'exit').then(() => Promise.reject(new Error('the other program ended')))
  await Promise.race([once(told, 'line'), failed])
  const dropped: string[] = []
  told.on('line', path => dropped.push(path))
  return {
    x: place.x + SIZE.width / 2,
    y: place.y + SIZE.height / 2,
    dropped,
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL')
      await failed.catch(() => undefined)
      await rm(folder, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}

const SIZE = { width: 300, height: 250 }

const program = (given: object) => `
const { app, BrowserWindow, ipcMain, nativeImage } = require('electron')
const { x, y, width, height, offers, icon } = ${JSON.stringify(given)}
app.whenReady().then(() => {
  const webPreferences = { nodeIntegration: true, contextIsolation: false, sandbox: false }
  const window = new BrowserWindow({ x, y, width, height, frame: false, webPreferences })
  ipcMain.on('drag', ({ sender }) => sender.startDrag({ file: offers, icon: nativeImage.createFromDataURL(icon) }))
  ipcMain.on('dropped', (_event, paths) => console.log(paths.join('\\n')))
  window.webContents.once('did-finish-load', () => console.log('ready'))
  window.loadURL('data:text/html,' + encodeURIComponent(\`<body draggable="true" style="height: 100vh; margin: 0"><script>
    const { ipcRenderer } = require('electron')
    document.body.ondragstart = event => { event.preventDefault(); ipcRenderer.send('drag') }
    document.ondragover = event => event.preventDefault()
    document.ondrop = event => {
      event.preventDefault()
      // As for a file manager, the drag of a page has nothing in it.
      if (event.dataTransfer.files.length > 0) ipcRenderer.send('dropped', [...event.dataTransfer.files].map(({ path }) => path))
    }
  </script>\`))
})
`
