import path from 'node:path'
import * as electron from 'electron'
import { pino } from 'pino'
import { startProxy } from '#proxy'
import { createKeyringCredentials } from './credentials/keyring-credentials.ts'
import { registerConsoleScheme, startDesktop } from './desktop.ts'
import { openSettingsFile } from './settings/settings-file.ts'
import { startEmbeddedStack } from './stack/embedded-stack.ts'
import { listenForDeepLinks } from './windows/deep-links.ts'

/**
 * Main process of the desktop app. Bundled into `dist/electron/main/main.js`; the page is `dist/renderer`, the preload
 * script `dist/electron/preload/index.cjs`.
 *
 * Environment: BERTH_ENDPOINT (an address or a sign-in link, instead of the user's choice), BERTH_CONFIG_DIR, BERTH_CONSOLE_DIR (the built
 * page), BERTH_NODE (Node 24 that runs the embedded stack), BERTH_LOG. The stack reads BERTH_DATA and the rest itself.
 */
const here = import.meta.dirname
const appRoot = path.resolve(here, '../../..')
const env = process.env
const log = pino({ level: env.BERTH_LOG ?? 'info', name: 'desktop' }, pino.destination(2))
const { app } = electron

registerConsoleScheme(electron)
const links = listenForDeepLinks({ app, argv: process.argv, log })
if (app.requestSingleInstanceLock()) {
  // Not awaited: Electron becomes ready only after this module has been evaluated.
  start().catch((error: unknown) => {
    log.error({ err: error }, 'the desktop app could not start')
    // Before any window exists, nothing else would tell the user.
    electron.dialog.showErrorBox('Berth could not start', error instanceof Error ? error.message : String(error))
    app.exit(1)
  })
} else {
  // The first instance shows its window, with our link if we were given one.
  app.exit(0)
}

async function start(): Promise<void> {
  await app.whenReady()
  app.setAsDefaultProtocolClient('berth')
  const configDir = env.BERTH_CONFIG_DIR ?? app.getPath('userData')
  const credentials = createKeyringCredentials({
    onUnusable: why => {
      log.warn({ why }, 'the sign-in is kept in memory')
      void electron.dialog.showMessageBox({
        type: 'warning',
        title: 'Berth',
        message: 'You are signed in until Berth quits.',
        detail: why,
      })
    },
  })
  const settings = await openSettingsFile(path.join(configDir, 'desktop.json'))
  startDesktop({
    electron,
    consoleDir: env.BERTH_CONSOLE_DIR ?? path.join(appRoot, 'dist/renderer'),
    preload: path.join(here, '../preload/index.cjs'),
    links,
    settings,
    credentials,
    fixedEndpoint: env.BERTH_ENDPOINT,
    startStack: () =>
      startEmbeddedStack({
        command: [env.BERTH_NODE ?? path.join(appRoot, 'node_modules/.bin/node'), path.join(appRoot, 'bin/berth')],
        onExit: code => log.error({ code }, 'the embedded stack ended'),
        onProgress: text => log.info({ text }, 'stack'),
      }),
    startProxy: options => startProxy({ ...options, dataDir: configDir, log }),
    fetch: globalThis.fetch,
    log,
  })
}
