/** Preferences of every window. Listed in full, although most are Electron's defaults: a changed default must not weaken us. */
export const SECURE_WEB_PREFERENCES = {
  contextIsolation: true,
  sandbox: true,
  nodeIntegration: false,
  nodeIntegrationInWorker: false,
  nodeIntegrationInSubFrames: false,
  webSecurity: true,
  allowRunningInsecureContent: false,
  webviewTag: false,
  // The spelling check itself is a setting of the session, off unless the user switches it on.
  spellcheck: true,
} as const

/**
 * Preferences of windows beside the console's, such as terminals. Zoom belongs to the origin by default, so that zooming a terminal by the
 * menu would zoom every window.
 */
export const PAGE_WINDOW_PREFERENCES = { ...SECURE_WEB_PREFERENCES, zoomMode: 'isolated' } as const
